/**
 * Addresses by the lower half of their hashes, in some eight bytes each. An address that was not added seems
 * to be there once in about sixty times: who asks must look again, or do a little too much.
 */
export class AddressBits {
  readonly #words: Uint32Array;
  readonly #shift: number;

  constructor(expected: number) {
    const bits = Math.min(32, Math.ceil(Math.log2(Math.max(expected, 512) * 64)));
    this.#words = new Uint32Array(2 ** (bits - 5));
    this.#shift = 32 - bits;
  }

  add(low: number): void {
    const bit = low >>> this.#shift;
    this.#words[bit >>> 5] = (this.#words[bit >>> 5] as number) | (1 << (bit & 31));
  }

  has(low: number): boolean {
    const bit = low >>> this.#shift;
    return ((this.#words[bit >>> 5] as number) & (1 << (bit & 31))) !== 0;
  }
}
