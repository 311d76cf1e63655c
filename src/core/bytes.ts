/** Byte helpers that Node's Buffer lacks or does leniently. */
import { timingSafeEqual } from 'node:crypto';

export function concatBytes(chunks: readonly Uint8Array[]): Buffer {
  return Buffer.concat(chunks);
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** Compares two secrets in a time that does not depend on where they differ. */
export function equalSecrets(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

export function toHex(bytes: Uint8Array): string {
  return viewAsBuffer(bytes).toString('hex');
}

/** A Buffer over the same memory, without copying. */
export function viewAsBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Decodes base64 (RFC 4648 §4) strictly: only the standard alphabet, correct padding, zero trailing bits.
 * White space must have been removed by the caller. Returns undefined for anything else.
 */
export function decodeBase64Strict(text: string): Buffer | undefined {
  if (text.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  if (bytes.length !== (text.length / 4) * 3 - padding) return undefined;
  // Node skips characters outside the alphabet and accepts the URL-safe one; only a faithful round trip is
  // strict.
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Characters turned into a string at once: it stays in the processor's cache. */
const base64SliceLength = 65_536;

/**
 * As `decodeBase64Strict`, for text given as bytes and without a string of its length. The result has
 * separate memory.
 */
export function decodeBase64Bytes(text: Uint8Array): Buffer | undefined {
  const characters = viewAsBuffer(text);
  const { length } = characters;
  if (length % 4 !== 0) return undefined;
  // Node also accepts the URL-safe alphabet.
  if (characters.includes(0x2d) || characters.includes(0x5f)) return undefined;
  const padding = characters[length - 2] === 0x3d ? 2 : characters[length - 1] === 0x3d ? 1 : 0;
  const bytes = Buffer.allocUnsafeSlow((length / 4) * 3 - padding);
  let size = 0;
  for (let from = 0; from < length; from += base64SliceLength) {
    const slice = characters.toString('latin1', from, from + base64SliceLength);
    size += bytes.write(slice, size, 'base64');
    // Fewer bytes: Node skipped characters outside the alphabet, or ended at padding.
    if (size !== Math.min(((from + slice.length) / 4) * 3, bytes.length)) return undefined;
  }
  const end = characters.toString('latin1', Math.max(0, length - 4));
  return Buffer.from(end, 'base64').toString('base64') === end ? bytes : undefined;
}
