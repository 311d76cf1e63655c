/** Texts that are in the same groups (`suit`, `suite`), and share a set. */
export interface SharedSet {
  readonly texts: Uint8Array[];
  readonly rowCount: number;
  /** The benefit of keeping it. */
  value: number;
}

/** Collects texts, and lets go of the least valuable sets as it fills up. */
export interface FrequentSets {
  /** Rows that a text of so many bytes must be in to be kept. */
  neededRows(textBytes: number): number;
  /** A text whose groups are counted at `place` of the tally. */
  add(text: Uint8Array, tally: Tally, place: number): void;
  /** The most valuable sets. */
  kept(): readonly SharedSet[];
}

// Without its set, a longer text is found by several lists whose members must be checked one by one.
const listedBytes = 3;
const longTextWorth = 3;
// So many beyond those that are kept, then the least valuable ones go.
const spareSets = 64;

export interface FrequentSetsOptions {
  readonly minRows: number;
  /** Sets that are kept. */
  readonly limit: number;
}

export function createFrequentSets({ minRows, limit }: FrequentSetsOptions): FrequentSets {
  let sets = new Map<string, SharedSet>();
  let leastValue = 0;

  function prune(): void {
    const best = [...sets].toSorted((a, b) => b[1].value - a[1].value).slice(0, limit);
    sets = new Map(best);
    if (best.length === limit) leastValue = best.at(-1)?.[1].value ?? 0;
  }

  return {
    neededRows: (textBytes) => Math.max(minRows, leastValue / worth(textBytes)),
    add(text, tally, place) {
      const rowCount = tally.rows[place] as number;
      const value = rowCount * worth(text.length);
      if (rowCount < minRows || value < leastValue || limit === 0) return;
      const key = tally.keyAt(place);
      const known = sets.get(key);
      if (known === undefined) {
        sets.set(key, { texts: [text], rowCount, value });
        if (sets.size > limit + spareSets) prune();
      } else {
        known.texts.push(text);
        known.value = Math.max(known.value, value);
      }
    },
    kept() {
      prune();
      return [...sets.values()];
    },
  };
}

function worth(textBytes: number): number {
  return textBytes > listedBytes ? longTextWorth : 1;
}

/** Counts the rows and groups of several texts; each group of a text comes once or several times in a row. */
export class Tally {
  readonly rows: Float64Array;
  readonly #groups: Uint32Array;
  readonly #lastGroup: Uint32Array;
  // Two sums over the groups, by which sets are told apart.
  readonly #sums: Int32Array;
  readonly #mixed: Int32Array;

  constructor(size: number) {
    this.rows = new Float64Array(size);
    this.#groups = new Uint32Array(size);
    this.#lastGroup = new Uint32Array(size);
    this.#sums = new Int32Array(size);
    this.#mixed = new Int32Array(size);
  }

  add(place: number, group: number, rows: number): void {
    if (this.#lastGroup[place] === group + 1) return;
    this.#lastGroup[place] = group + 1;
    this.rows[place] = (this.rows[place] as number) + rows;
    this.#groups[place] = (this.#groups[place] as number) + 1;
    let hash = Math.imul(group + 1, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
    this.#sums[place] = ((this.#sums[place] as number) + hash) | 0;
    this.#mixed[place] = (this.#mixed[place] as number) ^ Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  }

  /** The same for texts in the same groups. */
  keyAt(place: number): string {
    const { [place]: rows } = this.rows;
    return `${rows} ${this.#groups[place]} ${this.#sums[place]} ${this.#mixed[place]}`;
  }
}
