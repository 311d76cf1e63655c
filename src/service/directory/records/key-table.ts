/**
 * The keys of all records of a generation in flat arrays: 64-bit hash, record id and check sum of the
 * content, open addressing. 23 to 46 bytes per record, which lets a load of millions find duplicates and keep
 * ids in little memory. The data of one key is contiguous, so that one memory access fetches it.
 *
 * Two different keys share a hash once in about two million loads of three million records; the second one
 * is then reported as a duplicate. The hash is seeded (see `hashText`), so that nobody can provoke it.
 */
export class KeyTable {
  /** Four numbers a slot: hash low, hash high, id (0 in an empty slot), check sum. */
  #slots: Uint32Array;
  #isSeen: Uint8Array;
  /** By slot; absent until one is set. */
  #changedAt: Uint32Array | undefined;
  #mask: number;
  #size = 0;

  constructor(expected = 1024) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(expected, 512) * 1.6));
    this.#mask = capacity - 1;
    this.#slots = new Uint32Array(capacity * 4);
    this.#isSeen = new Uint8Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** The slot of a key, or -1. Slots hold until the next `add`. */
  find(low: number, high: number): number {
    const slot = this.#slotFor(low, high);
    return this.#slots[slot * 4 + 2] === 0 ? -1 : slot;
  }

  /** Adds a key that is not there yet; ids start at 1. Returns its slot. */
  add(low: number, high: number, id: number, sum: number, isSeen: boolean): number {
    if ((this.#size + 1) * 4 > this.#mask * 3) this.#grow();
    const slot = this.#slotFor(low, high);
    this.#slots[slot * 4] = low;
    this.#slots[slot * 4 + 1] = high;
    this.#slots[slot * 4 + 2] = id;
    this.#slots[slot * 4 + 3] = sum;
    this.#isSeen[slot] = isSeen ? 1 : 0;
    this.#size++;
    return slot;
  }

  /** Time of the last change of a slot's record: seconds since 1970, 0 if unknown. */
  changedAt(slot: number): number {
    return this.#changedAt?.[slot] ?? 0;
  }

  setChangedAt(slot: number, time: number): void {
    (this.#changedAt ??= new Uint32Array(this.#mask + 1))[slot] = time;
  }

  idAt(slot: number): number {
    return this.#slots[slot * 4 + 2] ?? 0;
  }

  sumAt(slot: number): number {
    return this.#slots[slot * 4 + 3] ?? 0;
  }

  isSeenAt(slot: number): boolean {
    return this.#isSeen[slot] === 1;
  }

  markSeen(slot: number): void {
    this.#isSeen[slot] = 1;
  }

  forEachKey(visit: (low: number, high: number, isSeen: boolean) => void): void {
    for (let at = 0; at < this.#slots.length; at += 4)
      if (this.#slots[at + 2] !== 0)
        visit(this.#slots[at] ?? 0, this.#slots[at + 1] ?? 0, this.#isSeen[at / 4] === 1);
  }

  #slotFor(low: number, high: number): number {
    const slots = this.#slots;
    let slot = (low ^ Math.imul(high, 0x9e3779b1)) & this.#mask;
    while (slots[slot * 4 + 2] !== 0 && (slots[slot * 4] !== low || slots[slot * 4 + 1] !== high)) {
      slot = (slot + 1) & this.#mask;
    }
    return slot;
  }

  #grow(): void {
    const old = this.#slots;
    const bigger = new KeyTable(this.#mask * 1.2);
    for (let at = 0; at < old.length; at += 4) {
      const id = old[at + 2] ?? 0;
      if (id === 0) continue;
      const isSeen = this.#isSeen[at / 4] === 1;
      const slot = bigger.add(old[at] ?? 0, old[at + 1] ?? 0, id, old[at + 3] ?? 0, isSeen);
      if (this.#changedAt !== undefined) bigger.setChangedAt(slot, this.changedAt(at / 4));
    }
    this.#slots = bigger.#slots;
    this.#isSeen = bigger.#isSeen;
    this.#changedAt = bigger.#changedAt;
    this.#mask = bigger.#mask;
  }
}
