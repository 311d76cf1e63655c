import type { Ascending } from '../ascending.ts';
import { countBits, hasBit, rowsOfBits, setBit, setBits, wordCount } from '../bits.ts';
import type { BitsPool } from '../intersect.ts';
import type { GroupedRows, Selector } from '../selector.ts';

/** Rows in ascending order, or a set of them. Subset of a {@link Selector}. */
export type RowSet = Extract<Selector, { readonly kind: 'rows' | 'bits' }>;

/** Up to so many rows are a list. */
const longestList = 2048;

/** Puts rows of several groups, lists and sets together, each row once. */
export interface RowCollector {
  addGroups(column: Pick<GroupedRows, 'starts' | 'postings'>, groups: Uint32Array): void;
  /** Groups [first, end). */
  addRange(column: Pick<GroupedRows, 'starts' | 'postings'>, first: number, end: number): void;
  addSet(set: RowSet): void;
  /** The rows; of a set, which may be a precomputed one, only `isCounted` counts them. */
  finish(isCounted: boolean): RowSet;
}

/** In place of the number of rows of a set that are not counted: more than the longest list has. */
const manyRows = longestList + 1;

export function createRowCollector(pool: BitsPool): RowCollector {
  let rows = new Uint32Array(64);
  let count = 0;
  let bits: Uint32Array | undefined;
  // A set that was added and is not copied unless more follows.
  let only: Uint32Array | undefined;

  function toBits(): Uint32Array {
    if (bits !== undefined) return bits;
    bits = pool.take();
    if (only === undefined) bits.fill(0);
    else bits.set(only);
    for (let at = 0; at < count; at++) setBit(bits, rows[at] as number);
    return bits;
  }

  function addRun(postings: Uint32Array | undefined, from: number, to: number): void {
    if (from === to) return;
    if (bits === undefined && (only !== undefined || count + to - from > longestList)) toBits();
    if (bits !== undefined) {
      if (postings === undefined) setBits(bits, from, to);
      else for (let at = from; at < to; at++) setBit(bits, postings[at] as number);
      return;
    }
    if (count + to - from > rows.length) {
      const larger = new Uint32Array(Math.min(longestList, (count + to - from) * 2));
      larger.set(rows.subarray(0, count));
      rows = larger;
    }
    for (let at = from; at < to; at++) rows[count++] = postings === undefined ? at : (postings[at] as number);
  }

  return {
    addGroups({ starts, postings }, groups) {
      let at = 0;
      for (; at < groups.length && bits === undefined; at++) {
        const group = groups[at] as number;
        addRun(postings, starts.at(group), starts.at(group + 1));
      }
      if (bits === undefined) return;
      const rest = inOrder(groups.subarray(at), starts.length - 1);
      if (postings !== undefined) addGroupsToBits(starts, postings, rest, bits);
      else for (const group of rest) setBits(bits, starts.at(group), starts.at(group + 1));
    },
    addRange: ({ starts, postings }, first, end) => addRun(postings, starts.at(first), starts.at(end)),
    addSet(set) {
      if (set.kind === 'rows') addRun(set.rows, 0, set.rows.length);
      else if (bits === undefined && only === undefined && count === 0) only = set.bits;
      else addBits(toBits(), set.bits);
    },
    finish(isCounted) {
      const found = bits ?? only;
      if (found !== undefined)
        return { kind: 'bits', bits: found, count: isCounted ? countBits(found) : manyRows };
      const sorted = uniqueOf(rows.subarray(0, count).sort());
      return { kind: 'rows', rows: sorted, count: sorted.length };
    },
  };
}

// Ordering costs a pass over the bits of all groups: as much as so small a share of them at random places.
const fewShare = 1 / 1024;

/**
 * Groups come word after word. In their own order, each once, the rows of one are next to those of the one
 * before: up to ten times as fast once a column is larger than the processor's cache.
 */
function inOrder(groups: Uint32Array, groupCount: number): Uint32Array {
  let ascending = 1;
  while (ascending < groups.length && (groups[ascending] as number) > (groups[ascending - 1] as number))
    ascending++;
  if (ascending >= groups.length || groups.length < groupCount * fewShare) return groups;
  const set = new Uint32Array(wordCount(groupCount));
  for (let at = 0; at < groups.length; at++) setBit(set, groups[at] as number);
  return rowsOfBits(set, countBits(set));
}

// Many groups of few rows.
function addGroupsToBits(
  starts: Ascending,
  postings: Uint32Array,
  groups: Uint32Array,
  bits: Uint32Array,
): void {
  for (let at = 0; at < groups.length; at++) {
    const group = groups[at] as number;
    const end = starts.at(group + 1);
    for (let place = starts.at(group); place < end; place++) {
      const row = postings[place] as number;
      bits[row >>> 5] = (bits[row >>> 5] as number) | (1 << (row & 31));
    }
  }
}

function addBits(bits: Uint32Array, more: Uint32Array): void {
  for (let word = 0; word < bits.length; word++) bits[word] = (bits[word] as number) | (more[word] as number);
}

function uniqueOf(sorted: Uint32Array): Uint32Array {
  let kept = 0;
  for (let at = 0; at < sorted.length; at++)
    if (at === 0 || sorted[at] !== sorted[at - 1]) sorted[kept++] = sorted[at] as number;
  return sorted.subarray(0, kept);
}

/** Calls `mark` with the place of each of some ascending rows that is in the set. */
export function markMembers(set: RowSet, rows: Uint32Array, mark: (place: number) => void): void {
  if (set.kind === 'bits') {
    for (let place = 0; place < rows.length; place++)
      if (hasBit(set.bits, rows[place] as number)) mark(place);
    return;
  }
  for (let place = 0, at = 0; place < rows.length && at < set.rows.length;) {
    const difference = (rows[place] as number) - (set.rows[at] as number);
    if (difference === 0) mark(place);
    if (difference <= 0) place++;
    if (difference >= 0) at++;
  }
}
