import { viewAsBuffer } from '../../core/index.ts';

const LF = 0x0a;
const CR = 0x0d;

/**
 * The same bytes with every bare LF and bare CR as CRLF (RFC 8551 §3.1.1). Returns the very same memory if nothing needs
 * to change, which is the usual case.
 */
export function canonicalize(bytes: Uint8Array): Buffer {
  const source = viewAsBuffer(bytes);
  const missing = countMissing(source);
  if (missing === 0) return source;
  const target = Buffer.allocUnsafe(source.length + missing);
  let to = 0;
  for (let index = 0; index < source.length; index++) {
    const byte = source[index] ?? 0;
    if (byte === LF && source[index - 1] !== CR) target[to++] = CR;
    target[to++] = byte;
    if (byte === CR && source[index + 1] !== LF) target[to++] = LF;
  }
  return target;
}

function countMissing(bytes: Buffer): number {
  let missing = 0;
  let previous = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] as number;
    if (byte === LF) {
      if (previous !== CR) missing++;
    } else if (previous === CR) missing++;
    previous = byte;
  }
  return previous === CR ? missing + 1 : missing;
}
