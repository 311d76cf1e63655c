import { viewAsBuffer } from '../../core/index.ts';
import { decodeBase64 } from '../mime/index.ts';

/** Text turned into a string at once. */
const chunkLength = 128 * 1024;
const CR = 0x0d;
const LF = 0x0a;

/**
 * Decodes base64 as lib/mime does, leniently, but lines of equal length, as nearly every sender writes them, in chunks: a large
 * message then needs no string of its own length.
 */
export function decodeBase64Lines(bytes: Uint8Array): Buffer {
  const text = viewAsBuffer(bytes);
  return decodeRegular(text) ?? decodeBase64(text);
}

/** Undefined if a line differs from the first one before the last chunk. */
function decodeRegular(text: Buffer): Buffer | undefined {
  const period = text.indexOf(LF) + 1;
  const lineEnd = text[period - 2] === CR ? 2 : 1;
  const lineLength = period - lineEnd;
  if (lineLength <= 0 || lineLength % 4 !== 0 || period > chunkLength) return undefined;
  const linesAtOnce = Math.floor(chunkLength / period);
  const target = Buffer.allocUnsafe(Math.ceil((text.length / 4) * 3) + 3);
  let written = 0;
  let from = 0;
  for (; from + linesAtOnce * period < text.length; from += linesAtOnce * period) {
    if (!hasLines(text, from, linesAtOnce, period, lineEnd)) return undefined;
    const size = target.write(text.toString('latin1', from, from + linesAtOnce * period), written, 'base64');
    // Fewer bytes mean that something outside the alphabet stands inside a line.
    if (size !== linesAtOnce * (lineLength / 4) * 3) return undefined;
    written += size;
  }
  const last = decodeBase64(text.subarray(from));
  target.set(last, written);
  return target.subarray(0, written + last.length);
}

function hasLines(text: Buffer, from: number, count: number, period: number, lineEnd: number): boolean {
  for (let end = from + period; end <= from + count * period; end += period) {
    if (text[end - 1] !== LF || (lineEnd === 2 && text[end - 2] !== CR)) return false;
  }
  return true;
}
