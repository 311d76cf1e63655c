/** A file that a text holds in uuencode, and where its lines begin and end. */
export interface UuencodedFile {
  readonly name: string;
  readonly content: Buffer;
  readonly start: number;
  readonly end: number;
}

const beginLine = /^begin(?:-base64)? [0-7]{3,4} ([^\r\n]{1,255}?)[ \t]*\r?$/gm;
/**
 * First lines of files that are followed in one text; what comes behind stays text. Each may cost a search to
 * the end of the text.
 */
const maxFiles = 100;

/**
 * The files in a text (Latin-1 of its octets); a block that is not well-formed to its `end` is text. The time
 * is bounded by `maxFiles` passes over the text.
 */
export function findUuencoded(text: string): UuencodedFile[] {
  const files: UuencodedFile[] = [];
  let from = 0;
  let tries = 0;
  for (const match of text.matchAll(beginLine)) {
    if (match.index < from) continue;
    if (++tries > maxFiles) break;
    const start = match.index + match[0].length + 1;
    const block = match[0].startsWith('begin-') ? readBase64(text, start) : readLines(text, start);
    if (block === undefined) continue;
    files.push({ name: match[1] ?? '', content: block.content, start: match.index, end: block.end });
    from = block.end;
  }
  return files;
}

interface Block {
  readonly content: Buffer;
  readonly end: number;
}

function readLines(text: string, start: number): Block | undefined {
  const lines: Buffer[] = [];
  let isOver = false;
  for (let at = start; at < text.length;) {
    const lineEnd = text.indexOf('\n', at);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const line = text.slice(at, end).replace(/\r$/, '');
    at = end + 1;
    if (line === 'end') return { content: Buffer.concat(lines), end: Math.min(at, text.length) };
    if (isOver && line.trim() !== '') return undefined;
    const decoded = line === '' ? Buffer.alloc(0) : decodeLine(line);
    if (decoded === undefined) return undefined;
    isOver = decoded.length === 0;
    lines.push(decoded);
  }
  return undefined;
}

/** The first character is the number of octets; blanks at the end may have got lost. */
function decodeLine(line: string): Buffer | undefined {
  if (line.length > 90 || /[^ -`]/.test(line)) return undefined;
  const size = (line.charCodeAt(0) - 0x20) & 0x3f;
  const needed = Math.ceil(size / 3) * 4;
  if (line.length - 1 > needed + 2) return undefined;
  const values = Array.from(
    line.slice(1, 1 + needed).padEnd(needed),
    (one) => (one.charCodeAt(0) - 0x20) & 0x3f,
  );
  const bytes: number[] = [];
  for (let index = 0; index < needed; index += 4) {
    const [a = 0, b = 0, c = 0, d = 0] = values.slice(index, index + 4);
    bytes.push(((a << 2) | (b >> 4)) & 0xff, ((b << 4) | (c >> 2)) & 0xff, ((c << 6) | d) & 0xff);
  }
  return Buffer.from(bytes.slice(0, size));
}

function readBase64(text: string, start: number): Block | undefined {
  const end = text.indexOf('\n====', start);
  if (end < 0) return undefined;
  const body = text.slice(start, end);
  if (/[^A-Za-z0-9+/=\s]/.test(body)) return undefined;
  const next = text.indexOf('\n', end + 1);
  return { content: Buffer.from(body, 'base64'), end: next < 0 ? text.length : next + 1 };
}
