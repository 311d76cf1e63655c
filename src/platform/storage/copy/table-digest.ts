import { createHash } from 'node:crypto';
import type { StoredValue } from '../storage.ts';

const modulus = 1n << 256n;

/**
 * Counts and hashes the rows of a table independently of their order: the sum of the rows' SHA-256 modulo
 * 2^256. A row that is there twice counts twice.
 */
export class TableDigest {
  rowCount = 0;
  #sum = 0n;

  /** Takes a row's values in the order that all rows have. */
  add(values: readonly StoredValue[]): void {
    const hash = createHash('sha256');
    for (const value of values) {
      // Kind and length make different rows different texts.
      if (value === null) hash.update('-');
      else if (value instanceof Uint8Array) hash.update(`b${value.byteLength}:`).update(value);
      else {
        const text = String(value);
        hash.update(`${typeof value === 'string' ? 't' : 'n'}${text.length}:${text}`);
      }
    }
    this.rowCount++;
    this.#sum = (this.#sum + BigInt(`0x${hash.digest('hex')}`)) % modulus;
  }

  /** 64 hexadecimal digits. */
  get hash(): string {
    return this.#sum.toString(16).padStart(64, '0');
  }
}
