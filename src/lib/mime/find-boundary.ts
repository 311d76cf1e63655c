const searchedBytes = 65_536;
const maxTries = 20;
const delimiterBeforeField = /(?:^|\n)--([^\r\n]{1,200}?)[ \t]*\r?\n(?=content-[a-z-]{1,40}[ \t]*:)/gi;
const lastDelimiter = /(?:^|\n)--([^\r\n]{1,200}?)--[ \t]*(?:\r?\n|$)/g;

/**
 * The boundary that the body of a multipart shows, where its header names none or a wrong one: that of a
 * delimiter before a Content field, else one that both begins a part and ends the last. Undefined if there is
 * none.
 */
export function findBoundary(body: Buffer): string | undefined {
  const head = body.toString('latin1', 0, searchedBytes);
  for (const [, boundary = ''] of head.matchAll(delimiterBeforeField))
    if (isBoundary(boundary)) return boundary;
  const tail = body.length <= searchedBytes ? head : body.toString('latin1', body.length - searchedBytes);
  for (const [, boundary = ''] of [...tail.matchAll(lastDelimiter)].slice(0, maxTries)) {
    if (isBoundary(boundary) && beginsPart(head, boundary)) return boundary;
  }
  return undefined;
}

function beginsPart(head: string, boundary: string): boolean {
  const delimiter = `\n--${boundary}`;
  const text = `\n${head}`;
  for (let at = text.indexOf(delimiter); at >= 0; at = text.indexOf(delimiter, at + 1)) {
    if (/^[ \t]*\r?\n/.test(text.slice(at + delimiter.length, at + delimiter.length + 80))) return true;
  }
  return false;
}

/** A line of hyphens, as letters are signed with, is none. */
function isBoundary(text: string): boolean {
  return /[^\s-]/.test(text) && !text.endsWith('--');
}
