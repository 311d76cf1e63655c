import { KeyTable } from '../records/key-table.ts';

/** Position of an entry in a load. */
export interface EntryPlace {
  readonly loadId: number;
  readonly sequence: number;
  /** Place in the block. */
  readonly entry: number;
  /** The record's id, 0 for a removal. */
  readonly id: number;
}

/** A key whose record is another one than in the base index, or may be. */
export interface ChangedKey {
  /** The entry of the key in the newest load above the base. */
  newest?: EntryPlace;
  /** The entry of the key in the loads of the base. */
  old?: EntryPlace;
  /**
   * A hosted record with this key counts instead of every load's: one that the base has too ('before'), or
   * one that has come or changed since ('since').
   */
  hosted?: 'before' | 'since';
}

/** Changed keys by their hash. */
export class ChangedKeys {
  readonly #table = new KeyTable();
  readonly #keys: ChangedKey[] = [];

  get size(): number {
    return this.#keys.length;
  }

  find(low: number, high: number): ChangedKey | undefined {
    const slot = this.#table.find(low, high);
    // The table's ids start at 1.
    return slot < 0 ? undefined : this.#keys[this.#table.idAt(slot) - 1];
  }

  /** The key, added if it was not there. */
  obtain(low: number, high: number): ChangedKey {
    const known = this.find(low, high);
    if (known !== undefined) return known;
    const key: ChangedKey = {};
    this.#table.add(low, high, this.#keys.push(key), 0, true);
    return key;
  }

  [Symbol.iterator](): Iterator<ChangedKey> {
    return this.#keys[Symbol.iterator]();
  }
}
