import { viewAsBuffer } from '../../core/index.ts';

const EQUALS = 0x3d;
const LF = 0x0a;

const inspectedBytes = 4096;
/** A line that begins with three words, or what looks like them. */
const sentence = /^\s*(?:[^\w\s+/=]*[A-Za-z]{1,30}[.,;:!?]? +){3}/;

/**
 * False for octets that a sender calls base64 and has never encoded: a file as it is, or sentences. Noise and
 * lost line ends do not make it so.
 */
export function isBase64(body: Uint8Array): boolean {
  const start = viewAsBuffer(body).toString('latin1', 0, inspectedBytes);
  if (/[^\s -~]/.test(start)) {
    const foreign = start.replaceAll(/[\w+/=\s-]/g, '').length;
    if (foreign * 4 > start.replaceAll(/\s/g, '').length) return false;
  }
  if (!sentence.test(start)) return true;
  // Base64 in groups looks like words, too.
  return start.split(/\s+/).every((group, index) => group.length % 4 === 0 || index > 3);
}

/** Pieces of base64 that are joined; hostile bodies consist of nothing but padding. */
const maxPieces = 1000;

/**
 * Decodes base64 and skips everything outside its alphabet (RFC 2045 §6.8). Nothing behind the padding is
 * decoded but pieces that were padded apart, and nothing of a footer that a gateway has added as text. What
 * is no base64 at all stays as it is.
 */
export function decodeBase64(body: Uint8Array): Buffer {
  const bytes = viewAsBuffer(body);
  if (!isBase64(bytes)) return bytes;
  const end = endOfBase64(bytes);
  return decodePieces(end < bytes.length ? bytes.subarray(0, end) : bytes);
}

function decodePieces(bytes: Buffer): Buffer {
  const padding = bytes.indexOf(EQUALS);
  if (padding < 0 || !hasMoreBase64(bytes, padding)) {
    return decodeRegularLines(bytes) ?? decodePiece(bytes);
  }
  const pieces: Buffer[] = [];
  let start = 0;
  for (let end = padding; end >= 0 && pieces.length < maxPieces; end = bytes.indexOf(EQUALS, start)) {
    if (end > start) pieces.push(decodePiece(bytes.subarray(start, end)));
    start = end + 1;
    while (bytes[start] === EQUALS) start++;
  }
  pieces.push(decodePiece(bytes.subarray(start)));
  return Buffer.concat(pieces);
}

/**
 * Node also takes the alphabet of URLs (RFC 4648 §5), whose hyphen and underscore are foreign here, unless
 * the whole is written in it.
 */
function decodePiece(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1').replaceAll('=', '');
  const isForeign = /[-_]/.test(text) && !/^[\w\s-]*$/.test(text);
  return Buffer.from(isForeign ? text.replaceAll(/[-_]/g, '') : text, 'base64');
}

/**
 * Text that is no base64: words with blanks between them, punctuation, or a line of hyphens or underscores.
 */
const footerLine = /^(?:[-_]{2}|[^\r\n]*(?:[^\s\w+/=-]|[A-Za-z0-9+/][ \t]+[A-Za-z0-9+/]))/;

/**
 * Where the base64 ends and something else follows: the length of the bytes if nothing does. The rest is text
 * if it comes behind a padding or an empty line, and its first line is text; noise within lines is no end.
 */
export function endOfBase64(bytes: Uint8Array): number {
  const body = viewAsBuffer(bytes);
  const padding = body.indexOf(EQUALS);
  if (padding >= 0) {
    let end = padding;
    while (body[end] === EQUALS) end++;
    return hasMoreBase64(body, padding) && (isFooter(body, end) || !isPiece(body, end))
      ? end
      : searchFooter(body);
  }
  return searchFooter(body);
}

const maxFooterBytes = 65_536;

function searchFooter(body: Buffer): number {
  const from = Math.max(0, body.length - maxFooterBytes);
  const tail = body.toString('latin1', from);
  for (const match of tail.matchAll(/\n(?:[ \t]*\r?\n(?=[^\r\n])|(?=[-_]{2,}[ \t]*\r?\n))/g)) {
    const at = from + match.index;
    if (at > 0 && isFooter(body, from + match.index + match[0].length)) return at + 1;
  }
  return body.length;
}

/** True if what begins there begins with a line of text. */
function isFooter(body: Buffer, start: number): boolean {
  const rest = body.toString('latin1', start, start + 4000).replace(/^\s+/, '');
  return footerLine.test(rest);
}

/** True if what begins there has the length of base64. */
function isPiece(body: Buffer, start: number): boolean {
  let length = 0;
  for (let index = start; index < body.length; index++) if ((body[index] ?? 0) > 0x20) length++;
  return length % 4 === 0;
}

function hasMoreBase64(bytes: Buffer, padding: number): boolean {
  for (let index = padding; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    if (byte !== EQUALS && byte > 0x20) return true;
  }
  return false;
}

/** Text turned into a string at once; it stays in the processor's cache. */
const chunkLength = 65_536;

/**
 * Lines of one length, as nearly every sender writes them, are decoded chunk by chunk: a large body then
 * needs no string as long as itself. Undefined if a line differs before the last chunk.
 */
function decodeRegularLines(bytes: Buffer): Buffer | undefined {
  const period = bytes.indexOf(LF) + 1;
  const lineLength = period - (bytes[period - 2] === 0x0d ? 2 : 1);
  if (bytes.length < 2 * chunkLength || lineLength <= 0 || lineLength % 4 !== 0 || period > 1000)
    return undefined;
  const lines = Math.floor(chunkLength / period);
  const target = Buffer.allocUnsafeSlow(Math.ceil((bytes.length * 3) / 4));
  let from = 0;
  let to = 0;
  for (; from + lines * period < bytes.length; from += lines * period) {
    if (!hasLineEnds(bytes, from, from + lines * period, period)) return undefined;
    const size = target.write(bytes.toString('latin1', from, from + lines * period), to, 'base64');
    // Fewer bytes: the lines contain characters outside of the alphabet.
    if (size !== (lines * lineLength * 3) / 4) return undefined;
    to += size;
  }
  return target.subarray(0, to + target.write(bytes.toString('latin1', from), to, 'base64'));
}

function hasLineEnds(bytes: Buffer, from: number, to: number, period: number): boolean {
  for (let end = from + period; end <= to; end += period) {
    if (bytes[end - 1] !== LF || bytes[end - 2] !== bytes[period - 2]) return false;
  }
  return true;
}
