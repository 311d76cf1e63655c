import { countBits, intersectBits } from './bits.ts';
import type { Rings } from './order/walk-rings.ts';
import { filterRows, gatherRows, writeBits, type Selector } from './selector.ts';

/** What all conditions together select: short results as a list, long ones as a set; neither means every row. */
export interface Matches {
  readonly count: number;
  /** In any order. */
  readonly rows?: Uint32Array;
  readonly bits?: Uint32Array;
  /** Present if the rows are `bits` inside a circle. */
  readonly rings?: Rings;
}

/** Sets of row numbers to write to; they are used again by later queries. */
export interface BitsPool {
  /** A set for the running query, with anything in it. */
  take(): Uint32Array;
  /** Ends the query: what it took is free again. */
  releaseAll(): void;
}

export function createBitsPool(words: number): BitsPool {
  const sets: Uint32Array[] = [];
  let taken = 0;
  return {
    take: () => (sets[taken++] ??= new Uint32Array(words)),
    releaseAll() {
      taken = 0;
    },
  };
}

export interface IntersectContext {
  readonly rowCount: number;
  /** Up to so many rows a list is cheaper than a set of all row numbers. */
  readonly shortResult: number;
  readonly pool: BitsPool;
}

/**
 * Starts with the rarest condition, so that the others are only asked about its rows. With `prefersSet` a short result
 * that was found as a set stays one: its page in row order is read from the set's beginning.
 */
export function intersect(
  selectors: readonly Selector[],
  context: IntersectContext,
  prefersSet = false,
): Matches {
  const { rowCount, shortResult, pool } = context;
  const [first, ...others] = selectors.toSorted((a, b) => a.count - b.count);
  if (first === undefined) return { count: rowCount };
  if (first.count <= shortResult || isListCheaper(first, others, rowCount))
    return intersectLists(first, others, context);
  const bits = pool.take();
  writeBits(first, bits, rowCount);
  let count = first.count;
  for (const other of others) count = intersectBits(bits, bitsOf(other, context));
  return count <= shortResult && !prefersSet
    ? { count, rows: gatherRows({ kind: 'bits', bits, count }) }
    : { count, bits };
}

// Relative cost per row: set a bit 1, list 1, test a precomputed bitset 2, read a column 3. Of a set or its complement the
// smaller one is written.
function isListCheaper(first: Selector, others: readonly Selector[], rowCount: number): boolean {
  const [ready, asked] = splitReady(others);
  let left = first.count;
  let askCost = left;
  for (const { count } of ready) {
    askCost += left * 2;
    left *= count / rowCount;
  }
  askCost += left * 3 * asked.length;
  const setCost = others.length * (rowCount / 32);
  const writeCost = asked.reduce((sum, { count }) => sum + Math.min(count, rowCount - count), setCost);
  return askCost < writeCost;
}

function splitReady(selectors: readonly Selector[]): [ready: Selector[], asked: Selector[]] {
  const isReady = ({ kind }: Selector): boolean => kind === 'bits';
  return [selectors.filter(isReady), selectors.filter((selector) => !isReady(selector))];
}

function bitsOf(selector: Selector, { rowCount, pool }: IntersectContext): Uint32Array {
  if (selector.kind === 'bits') return selector.bits;
  const bits = pool.take();
  writeBits(selector, bits, rowCount);
  return bits;
}

function intersectLists(
  first: Selector,
  others: readonly Selector[],
  { rowCount, shortResult, pool }: IntersectContext,
): Matches {
  const bits = pool.take();
  const [ready, asked] = splitReady(others);
  let rows = gatherRows(first);
  let { count } = first;
  // A set is small enough for any order. What it leaves is often few rows.
  for (const other of ready) if (count > 0) count = filterRows(other, rows, count, rowCount);
  // Many rows in ascending order find what belongs to them side by side in memory.
  if (asked.length > 0 && count > shortResult && first.kind !== 'bits') {
    writeBits({ kind: 'rows', rows: rows.subarray(0, count), count }, bits, rowCount);
    rows = gatherRows({ kind: 'bits', bits, count });
  }
  for (const other of asked) if (count > 0) count = filterRows(other, rows, count, rowCount);
  if (count <= shortResult) return { count, rows: rows.subarray(0, count) };
  writeBits({ kind: 'rows', rows: rows.subarray(0, count), count }, bits, rowCount);
  return { count, bits };
}

/** A selector over a set whose size is not known yet. */
export function selectBits(bits: Uint32Array): Selector {
  return { kind: 'bits', bits, count: countBits(bits) };
}
