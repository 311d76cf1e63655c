/**
 * The keys of all records of a generation in flat arrays: 64-bit hash, record id and check sum of the content, open
 * addressing. 24 to 48 bytes a record, which lets a load of millions find duplicates and keep ids in little memory.
 *
 * Two different keys share a hash once in about four million loads of three million records; the second one is then
 * reported as a duplicate. The hash is seeded (see `hashText`), so that nobody can provoke it.
 */
export class KeyTable {
  #low: Uint32Array;
  #high: Uint32Array;
  #ids: Uint32Array;
  #sums: Uint32Array;
  #isSeen: Uint8Array;
  #mask: number;
  #size = 0;

  constructor(expected = 1024) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(expected, 512) * 1.6));
    this.#mask = capacity - 1;
    this.#low = new Uint32Array(capacity);
    this.#high = new Uint32Array(capacity);
    this.#ids = new Uint32Array(capacity);
    this.#sums = new Uint32Array(capacity);
    this.#isSeen = new Uint8Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** The slot of a key, or -1. Slots hold until the next `add`. */
  find(low: number, high: number): number {
    const slot = this.#slotFor(low, high);
    return this.#ids[slot] === 0 ? -1 : slot;
  }

  /** Adds a key that is not there yet; ids start at 1. */
  add(low: number, high: number, id: number, sum: number, isSeen: boolean): void {
    if ((this.#size + 1) * 1.5 > this.#mask) this.#grow();
    const slot = this.#slotFor(low, high);
    this.#low[slot] = low;
    this.#high[slot] = high;
    this.#ids[slot] = id;
    this.#sums[slot] = sum;
    this.#isSeen[slot] = isSeen ? 1 : 0;
    this.#size++;
  }

  idAt(slot: number): number {
    return this.#ids[slot] ?? 0;
  }

  sumAt(slot: number): number {
    return this.#sums[slot] ?? 0;
  }

  isSeenAt(slot: number): boolean {
    return this.#isSeen[slot] === 1;
  }

  markSeen(slot: number): void {
    this.#isSeen[slot] = 1;
  }

  #slotFor(low: number, high: number): number {
    let slot = (low ^ Math.imul(high, 0x9e3779b1)) & this.#mask;
    while (this.#ids[slot] !== 0 && (this.#low[slot] !== low || this.#high[slot] !== high)) {
      slot = (slot + 1) & this.#mask;
    }
    return slot;
  }

  #grow(): void {
    const old = { low: this.#low, high: this.#high, ids: this.#ids, sums: this.#sums, isSeen: this.#isSeen };
    const bigger = new KeyTable(this.#mask * 1.3);
    for (let slot = 0; slot < old.ids.length; slot++) {
      const id = old.ids[slot] ?? 0;
      if (id !== 0)
        bigger.add(old.low[slot] ?? 0, old.high[slot] ?? 0, id, old.sums[slot] ?? 0, old.isSeen[slot] === 1);
    }
    this.#low = bigger.#low;
    this.#high = bigger.#high;
    this.#ids = bigger.#ids;
    this.#sums = bigger.#sums;
    this.#isSeen = bigger.#isSeen;
    this.#mask = bigger.#mask;
  }
}
