/**
 * The sources that have a record of a pair of Direct address and NPI, in flat arrays: 64-bit hash, open
 * addressing. A source is known by its rank, 0 to 31, the lowest of which takes precedence.
 */
export class PairTable {
  /**
   * Seven numbers a slot: hash low, hash high, ranks, ranks with several records, lowest id, note, and one
   * more than the slot of the pair that this one has been joined to.
   */
  #slots: Uint32Array;
  #mask: number;
  #size = 0;

  constructor(expected = 1024) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(expected, 512) * 1.6));
    this.#mask = capacity - 1;
    this.#slots = new Uint32Array(capacity * width);
  }

  get size(): number {
    return this.#size;
  }

  /** The slot of a pair, or of the one that it is joined to, or -1. Slots hold until the next `add`. */
  find(low: number, high: number): number {
    const slot = this.#slotFor(low, high);
    if (this.#slots[slot * width + 2] === 0) return -1;
    const joined = this.#slots[slot * width + 6] as number;
    return joined === 0 ? slot : joined - 1;
  }

  /** Makes two pairs one, under the hash of the second. Only after the last `add`. */
  join(slot: number, target: number): void {
    const [from, to] = [slot * width, target * width];
    for (const at of [2, 3])
      this.#slots[to + at] = (this.#slots[to + at] as number) | (this.#slots[from + at] as number);
    this.#slots[to + 4] = Math.min(this.#slots[to + 4] as number, this.#slots[from + 4] as number);
    this.#slots[from + 6] = target + 1;
  }

  /** The hash of a slot's pair. */
  hashAt(slot: number): readonly [low: number, high: number] {
    return [this.#slots[slot * width] as number, this.#slots[slot * width + 1] as number];
  }

  forEachPair(visit: (low: number, high: number) => void): void {
    for (let at = 0; at < this.#slots.length; at += width)
      if (this.#slots[at + 2] !== 0) visit(this.#slots[at] as number, this.#slots[at + 1] as number);
  }

  /** Notes that the source has a record of the pair. */
  add(low: number, high: number, rank: number, id: number): void {
    if ((this.#size + 1) * 1.5 > this.#mask) this.#grow();
    const slot = this.#slotFor(low, high);
    const at = slot * width;
    if (this.#slots[at + 2] === 0) {
      this.#slots[at] = low;
      this.#slots[at + 1] = high;
      this.#slots[at + 4] = id;
      this.#size++;
    }
    this.addTo(slot, rank, id);
  }

  /** The same for a pair that is there. */
  addTo(slot: number, rank: number, id: number): void {
    const at = slot * width;
    const bit = 1 << rank;
    if (((this.#slots[at + 2] as number) & bit) !== 0)
      this.#slots[at + 3] = (this.#slots[at + 3] as number) | bit;
    this.#slots[at + 2] = (this.#slots[at + 2] as number) | bit;
    if (id < (this.#slots[at + 4] as number)) this.#slots[at + 4] = id;
  }

  /** The ranks that have a record of the pair, as bits. */
  ranksAt(slot: number): number {
    return this.#slots[slot * width + 2] as number;
  }

  hasSeveralAt(slot: number, rank: number): boolean {
    return ((this.#slots[slot * width + 3] as number) & (1 << rank)) !== 0;
  }

  lowestIdAt(slot: number): number {
    return this.#slots[slot * width + 4] as number;
  }

  noteAt(slot: number): number {
    return this.#slots[slot * width + 5] as number;
  }

  setNoteAt(slot: number, note: number): void {
    this.#slots[slot * width + 5] = note;
  }

  /** Sources of the pairs beyond one of each, of the given ranks alone. */
  countOverlaps(among: number): number {
    let overlaps = 0;
    for (let at = 0; at < this.#slots.length; at += width) {
      if (this.#slots[at + 6] !== 0) continue;
      let ranks = (this.#slots[at + 2] as number) & among;
      for (; hasSeveralRanks(ranks); ranks &= ranks - 1) overlaps++;
    }
    return overlaps;
  }

  #slotFor(low: number, high: number): number {
    const slots = this.#slots;
    let slot = (low ^ Math.imul(high, 0x9e3779b1)) & this.#mask;
    while (
      slots[slot * width + 2] !== 0 &&
      (slots[slot * width] !== low || slots[slot * width + 1] !== high)
    ) {
      slot = (slot + 1) & this.#mask;
    }
    return slot;
  }

  #grow(): void {
    const old = this.#slots;
    this.#mask = this.#mask * 2 + 1;
    this.#slots = new Uint32Array((this.#mask + 1) * width);
    for (let at = 0; at < old.length; at += width) {
      if (old[at + 2] === 0) continue;
      this.#slots.set(
        old.subarray(at, at + width),
        this.#slotFor(old[at] as number, old[at + 1] as number) * width,
      );
    }
  }
}

const width = 7;

export function hasSeveralRanks(ranks: number): boolean {
  return (ranks & (ranks - 1)) !== 0;
}

/** The rank that takes precedence among some. */
export function firstRank(ranks: number): number {
  return 31 - Math.clz32(ranks & -ranks);
}
