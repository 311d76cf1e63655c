import { DirectoryError } from '../../errors.ts';
import { maxStagedItems } from '../../limits.ts';
import { hashText, type TextHash } from '../../records/hash-text.ts';
import { KeyTable } from '../../records/key-table.ts';

export interface HashSeed {
  readonly low: number;
  readonly high: number;
}

/**
 * Numbers texts from 0 in the order in which they come, by their 64-bit hashes only: 24 to 48 bytes each. Two
 * different ones share a hash once in hundreds of thousands of releases; the seed keeps anybody from
 * provoking it.
 */
export class IdTable {
  readonly #keys = new KeyTable();
  readonly #seed: HashSeed;
  readonly #hash: TextHash = { low: 0, high: 0 };

  constructor(seed: HashSeed) {
    this.#seed = seed;
  }

  get size(): number {
    return this.#keys.size;
  }

  /** The number of a text, or -1. */
  find(text: string): number {
    hashText(text, this.#seed.low, this.#seed.high, this.#hash);
    const slot = this.#keys.find(this.#hash.low, this.#hash.high);
    return slot < 0 ? -1 : this.#keys.idAt(slot) - 1;
  }

  /**
   * The number of a text, a new one if it has none. Throws DIRECTORY_RELEASE_INVALID when there are too many.
   */
  add(text: string): number {
    const found = this.find(text);
    if (found >= 0) return found;
    const number = this.#keys.size;
    requireRoom(number);
    this.#keys.add(this.#hash.low, this.#hash.high, number + 1, 0, false);
    return number;
  }
}

/** The same for pairs of numbers. */
export class PairTable {
  readonly #keys = new KeyTable();

  get size(): number {
    return this.#keys.size;
  }

  /** The number of a pair, a new one if it has none. */
  add(first: number, second: number): number {
    const slot = this.#keys.find(first, second);
    if (slot >= 0) return this.#keys.idAt(slot) - 1;
    const number = this.#keys.size;
    requireRoom(number);
    this.#keys.add(first, second, number + 1, 0, false);
    return number;
  }
}

/** Memory is bounded by the kept data for any release. */
function requireRoom(count: number): void {
  if (count < maxStagedItems) return;
  throw new DirectoryError(
    'DIRECTORY_RELEASE_INVALID',
    `The release has more than ${maxStagedItems} Direct addresses, roles or organizations to be linked`,
  );
}
