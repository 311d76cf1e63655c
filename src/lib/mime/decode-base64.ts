import { viewAsBuffer } from '../../core/index.ts';

const EQUALS = 0x3d;
const LF = 0x0a;

/** Pieces of base64 that are joined; hostile bodies consist of nothing but padding. */
const maxPieces = 1000;

/** Decodes base64 and skips everything outside its alphabet (RFC 2045 §6.8); pieces that were padded apart are joined. */
export function decodeBase64(body: Uint8Array): Buffer {
  const bytes = viewAsBuffer(body);
  const padding = bytes.indexOf(EQUALS);
  if (padding < 0 || !hasMoreBase64(bytes, padding)) {
    return decodeRegularLines(bytes) ?? Buffer.from(bytes.toString('latin1'), 'base64');
  }
  const pieces: Buffer[] = [];
  let start = 0;
  for (let end = padding; end >= 0 && pieces.length < maxPieces; end = bytes.indexOf(EQUALS, start)) {
    if (end > start) pieces.push(Buffer.from(bytes.toString('latin1', start, end), 'base64'));
    start = end + 1;
    while (bytes[start] === EQUALS) start++;
  }
  pieces.push(Buffer.from(bytes.toString('latin1', start).replaceAll('=', ''), 'base64'));
  return Buffer.concat(pieces);
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
 * Lines of one length, as nearly every sender writes them, are decoded chunk by chunk: a large body then needs no string of
 * its own length. Undefined if a line differs before the last chunk.
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
