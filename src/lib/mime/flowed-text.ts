/**
 * Joins the lines of a text/plain of `format=flowed` (RFC 3676 §4): a line that ends in a blank goes on in
 * the next one of the same depth of quotes, and a blank that was put before a line is removed. With
 * `deletesBlank` the blank at the end goes, too. Line ends are CRLF.
 */
export function joinFlowed(text: string, deletesBlank: boolean): string {
  const paragraphs: { depth: number; text: string }[] = [];
  let isOpen = false;
  for (const line of text.split(/\r\n|\n/)) {
    const depth = /^>*/.exec(line)?.[0].length ?? 0;
    const rest = line.slice(depth);
    const content = rest.startsWith(' ') ? rest.slice(1) : rest;
    const last = paragraphs.at(-1);
    const isSignature = content === '-- ';
    const isFlowed = content.endsWith(' ') && !isSignature;
    const part = isFlowed && deletesBlank ? content.slice(0, -1) : content;
    if (isOpen && last?.depth === depth && !isSignature) last.text += part;
    else paragraphs.push({ depth, text: part });
    isOpen = isFlowed;
  }
  return paragraphs
    .map(({ depth, text: one }) => (depth === 0 ? one : `${'>'.repeat(depth)} ${one}`))
    .join('\r\n');
}
