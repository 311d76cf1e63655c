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
  // Node skips characters outside the alphabet and accepts the URL-safe one; only a faithful round trip is strict.
  return bytes.toString('base64') === text ? bytes : undefined;
}
