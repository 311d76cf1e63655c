import { setBit, wordCount } from '../bits.ts';

/** Groups that hold certain texts. Texts with the same groups (`suit`, `suite`) share a set. */
export interface SharedSet {
  /** A bit for each group: lists of hundreds of sets would take several times as much as the index. */
  readonly groups: Uint32Array;
  readonly rowCount: number;
  readonly texts: Buffer[];
  /** The benefit of keeping it. */
  value: number;
}

/** Collects texts and their groups, and lets go of the least valuable ones as it fills up. */
export interface FrequentSets {
  /** Rows that a text of so many bytes must be in to be kept. */
  neededRows(textBytes: number): number;
  add(text: readonly number[], groups: Uint32Array, rowCount: number): void;
  /** The most valuable sets. */
  kept(): readonly SharedSet[];
}

// Without its set, a longer text is found by several lists whose members must be checked one by one.
const listedBytes = 3;
const longTextWorth = 3;
// So many beyond those that are kept, then the least valuable ones go.
const spareSets = 64;

export interface FrequentSetsOptions {
  readonly groupCount: number;
  readonly minRows: number;
  /** Sets that are kept. */
  readonly limit: number;
}

export function createFrequentSets({ groupCount, minRows, limit }: FrequentSetsOptions): FrequentSets {
  let sets = new Map<string, SharedSet>();
  let leastValue = 0;

  function bitsOf(groups: Uint32Array): Uint32Array {
    const bits = new Uint32Array(wordCount(groupCount));
    for (let at = 0; at < groups.length; at++) setBit(bits, groups[at] as number);
    return bits;
  }

  function prune(): void {
    const best = [...sets].toSorted((a, b) => b[1].value - a[1].value).slice(0, limit);
    sets = new Map(best);
    if (best.length === limit) leastValue = best.at(-1)?.[1].value ?? 0;
  }

  return {
    neededRows: (textBytes) => Math.max(minRows, leastValue / worth(textBytes)),
    add(text, groups, rowCount) {
      const value = rowCount * worth(text.length);
      if (rowCount < minRows || value < leastValue || limit === 0) return;
      const key = `${rowCount} ${groups.length} ${hashOf(groups)}`;
      const known = sets.get(key);
      if (known === undefined) {
        sets.set(key, { groups: bitsOf(groups), rowCount, texts: [Buffer.from(text)], value });
        if (sets.size > limit + spareSets) prune();
      } else {
        known.texts.push(Buffer.from(text));
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

// Does not depend on the order.
function hashOf(groups: Uint32Array): string {
  let sum = 0;
  let mixed = 0;
  for (let at = 0; at < groups.length; at++) {
    let hash = Math.imul((groups[at] as number) + 1, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
    sum = (sum + hash) | 0;
    mixed ^= Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  }
  return `${sum} ${mixed}`;
}
