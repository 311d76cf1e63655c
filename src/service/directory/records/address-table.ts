import { KeyTable } from './key-table.ts';

/**
 * Numbers the addresses of some records from 0, by the lower half of their hashes. Two addresses share a
 * number once in four thousand millions; the records tell them apart.
 */
export class AddressTable {
  readonly #table = new KeyTable();

  get size(): number {
    return this.#table.size;
  }

  /** The number of an address, or -1. */
  find(low: number): number {
    const slot = this.#table.find(low, 0);
    return slot < 0 ? -1 : this.#table.idAt(slot) - 1;
  }

  /** The number of an address, which is added if it is not there. */
  obtain(low: number): number {
    const known = this.find(low);
    if (known >= 0) return known;
    this.#table.add(low, 0, this.size + 1, 0, true);
    return this.size - 1;
  }

  forEach(visit: (low: number) => void): void {
    this.#table.forEachKey((low) => visit(low));
  }
}
