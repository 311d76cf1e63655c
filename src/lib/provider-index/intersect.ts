import { countBits, intersectBits } from './bits.ts';
import type { NearRows } from './order/near-rows.ts';
import { filterRows, gatherRows, writeBits, type Selector } from './selector.ts';

/**
 * The rows that all conditions select: a list if short, a bitset if long; with nothing else it is every row.
 */
export interface Matches {
  readonly count: number;
  /** In any order. */
  readonly rows?: Uint32Array;
  readonly bits?: Uint32Array;
  /** Of `bits`, if they are kept. */
  readonly sums?: Uint32Array;
  /** Present if the rows are `bits` inside a circle. */
  readonly near?: NearRows;
  /** The rows are those of this selector, of which neither list nor bitset was made. */
  readonly inside?: Selector;
}

/** Sets of row numbers to write to; they are used again by later queries. */
export interface BitsPool {
  /** A set for the running query, with anything in it. */
  take(): Uint32Array;
  /** Of the sets that `work` takes those that `setsOf` its result stay taken after the query. */
  keep<Result>(work: () => Result, setsOf: (result: Result) => Iterable<Uint32Array>): Kept<Result>;
  /** Kept sets are released with the running query, which may still read them. */
  letGo(sets: readonly Uint32Array[]): void;
  /** Ends the query and releases its working memory. */
  releaseAll(): void;
}

/** A result, and the sets of a pool that it consists of. */
export interface Kept<Result> {
  readonly result: Result;
  readonly sets: readonly Uint32Array[];
}

/** Few queries take more; sixteen short words take three times as many. */
const freeSets = 48;

export function createBitsPool(words: number): BitsPool {
  const free: Uint32Array[] = [];
  const used: Uint32Array[] = [];
  return {
    take() {
      const set = free.pop() ?? new Uint32Array(words);
      used.push(set);
      return set;
    },
    keep(work, setsOf) {
      const before = used.length;
      const result = work();
      const kept = new Set(setsOf(result));
      const taken = used.splice(before);
      used.push(...taken.filter((set) => !kept.has(set)));
      return { result, sets: taken.filter((set) => kept.has(set)) };
    },
    letGo: (sets) => void used.push(...sets),
    releaseAll() {
      free.push(...used.splice(0));
      free.length = Math.min(free.length, freeSets);
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
 * Starts with the rarest condition, so that the others are only asked about its rows. With `prefersSet` a
 * short result that was found as a set stays one: its page in row order is read from the set's beginning.
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

// Relative cost per row: set or clear a bit 1, list 1, test a listed row against another condition 3.
function isListCheaper(first: Selector, others: readonly Selector[], rowCount: number): boolean {
  const listCost = first.count * (1 + 3 * others.length);
  const setCost = others.reduce(
    (sum, { kind, count }) => sum + rowCount / 32 + (kind === 'bits' ? 0 : Math.min(count, rowCount - count)),
    0,
  );
  return listCost < setCost;
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
  const rows = gatherRows(first);
  let { count } = first;
  for (const other of others) if (count > 0) count = filterRows(other, rows, count, rowCount);
  const found = rows.subarray(0, count);
  if (count <= shortResult) return { count, rows: found };
  const bits = pool.take();
  writeBits({ kind: 'rows', rows: found, count }, bits, rowCount);
  return { count, bits };
}

/** A selector over a set whose size is not known yet. */
export function selectBits(bits: Uint32Array): Selector {
  return { kind: 'bits', bits, count: countBits(bits) };
}
