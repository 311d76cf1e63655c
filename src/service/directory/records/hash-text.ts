/** The two halves of a hash, each an unsigned 32-bit number. */
export interface TextHash {
  low: number;
  high: number;
}

/**
 * A seeded 64-bit hash of a text's UTF-16 units: two multiply-and-rotate sums with different constants and a
 * final mix that crosses them. Not cryptographic; the secret seed keeps it from being steered. Writes into
 * `out` to spare an object for each of millions of rows.
 */
export function hashText(text: string, seedLow: number, seedHigh: number, out: TextHash): void {
  let a = seedLow ^ 0x243f6a88;
  let b = seedHigh ^ 0x85a308d3;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x9e3779b1);
    a = (a << 13) | (a >>> 19);
    b = Math.imul(b ^ unit, 0x85ebca6b);
    b = (b << 17) | (b >>> 15);
  }
  const low = Math.imul(a ^ (a >>> 16), 0xc2b2ae35) ^ Math.imul(b ^ (b >>> 13), 0x27d4eb2f);
  const high = Math.imul(b ^ (b >>> 16), 0x165667b1) ^ Math.imul(low ^ (low >>> 13), 0x9e3779b1);
  out.low = (low ^ (low >>> 15)) >>> 0;
  out.high = (high ^ (high >>> 14)) >>> 0;
}
