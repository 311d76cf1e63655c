import { countBits, intersectBits } from './bits.ts';
import { filterRows, gatherRows, readyBits, writeBits, type Selector } from './selector.ts';

/** What all conditions together select: short results as a list, long ones as a set; neither means every row. */
export interface Matches {
  readonly count: number;
  /** In any order. */
  readonly rows?: Uint32Array;
  readonly bits?: Uint32Array;
}

/** Sets of row numbers to write to; they are used again by later queries. */
export interface BitsPool {
  /** A set for the running query, with anything in it. */
  take(): Uint32Array;
  /** Ends the query: what it took is free again. */
  releaseAll(): void;
  /** Lets a set outlive the query, if the query took it. */
  keep(bits: Uint32Array): void;
  /** Frees a set that was kept. */
  giveBack(bits: Uint32Array): void;
}

export function createBitsPool(words: number): BitsPool {
  const free: Uint32Array[] = [];
  const kept = new Set<Uint32Array>();
  let taken: Uint32Array[] = [];
  return {
    take() {
      const bits = free.pop() ?? new Uint32Array(words);
      taken.push(bits);
      return bits;
    },
    releaseAll() {
      for (const bits of taken) if (!kept.has(bits)) free.push(bits);
      taken = [];
    },
    keep(bits) {
      if (taken.includes(bits)) kept.add(bits);
    },
    giveBack(bits) {
      if (kept.delete(bits) && !taken.includes(bits)) free.push(bits);
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

// Asking about a row costs as much as putting about three rows into a set; of a set or its complement the smaller is written.
function isListCheaper(first: Selector, others: readonly Selector[], rowCount: number): boolean {
  const askCost = first.count * 3 * others.length;
  const writeCost = others.reduce(
    (sum, other) =>
      sum + (readyBits(other) ? 0 : Math.min(other.count, rowCount - other.count)) + rowCount / 32,
    0,
  );
  return askCost < writeCost;
}

function bitsOf(selector: Selector, { rowCount, pool }: IntersectContext): Uint32Array {
  const ready = readyBits(selector);
  if (ready !== undefined) return ready;
  const bits = pool.take();
  writeBits(selector, bits, rowCount);
  return bits;
}

function intersectLists(
  first: Selector,
  others: readonly Selector[],
  { rowCount, shortResult, pool }: IntersectContext,
): Matches {
  // Rows in ascending order find what belongs to them side by side in memory; a set is small enough for any order.
  const bits = pool.take();
  const isAnyOrder = first.count <= shortResult || others.every((other) => readyBits(other) !== undefined);
  const rows = isAnyOrder ? gatherRows(first) : ascendingRows(first, bits, rowCount);
  let count = first.count;
  for (const other of others) if (count > 0) count = filterRows(other, rows, count, rowCount);
  if (count <= shortResult) return { count, rows: rows.subarray(0, count) };
  writeBits({ kind: 'rows', rows: rows.subarray(0, count), count }, bits, rowCount);
  return { count, bits };
}

function ascendingRows(selector: Selector, bits: Uint32Array, rowCount: number): Uint32Array {
  if (selector.kind === 'bits') return gatherRows(selector);
  writeBits(selector, bits, rowCount);
  return gatherRows({ kind: 'bits', bits, count: selector.count });
}

/** A selector over a set whose size is not known yet. */
export function selectBits(bits: Uint32Array): Selector {
  return { kind: 'bits', bits, count: countBits(bits) };
}
