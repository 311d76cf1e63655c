import type { SubIndex } from '../open-index.ts';
import type { ProviderQuery, SearchResult } from '../types.ts';
import { comparePlaces, type OrderedRows } from './row-order.ts';

/** A large index and its few changes since. */
export interface ChangedIndexes {
  readonly base: SubIndex;
  readonly added: SubIndex;
  readonly removed: SubIndex;
  /** Ids of the removed records. */
  readonly removedIds: ReadonlySet<number>;
}

/** Number of changed records that a query concerns. */
export interface ChangeCounts {
  readonly added: number;
  readonly removed: number;
}

/** Places of the base's result that the page is looked for in. */
interface Window {
  readonly first: number;
  readonly end: number;
}

/**
 * The page as an index of base − removed + added would give it; added rows are numbered behind the base's.
 * The base is queried for a window that is wider than the page. A small margin is mostly enough; as many rows
 * as the changes can have moved the page are always enough.
 */
export function mergePage(query: ProviderQuery, counts: ChangeCounts, indexes: ChangedIndexes): SearchResult {
  const from = query.offset;
  const to = from + query.limit;
  const narrow: Window = {
    first: Math.max(0, from - Math.min(counts.added, marginFor(from))),
    end: to + Math.min(counts.removed, marginFor(to)),
  };
  const wide: Window = { first: Math.max(0, from - counts.added), end: to + counts.removed };
  const merged = mergeWindow(query, narrow, counts, indexes) ?? mergeWindow(query, wide, counts, indexes);
  if (merged === undefined) throw new TypeError('The widest window of a page does not hold it.');
  return merged;
}

// Enough where changes are no denser than one row in four.
function marginFor(place: number): number {
  return 64 + (place >>> 2);
}

function emptyPage({ radius }: ProviderQuery, totalCount: number): SearchResult {
  const rows = new Uint32Array(0);
  return radius === undefined ? { totalCount, rows } : { totalCount, rows, distances: new Float64Array(0) };
}

/** Undefined if the page is not wholly in the window. */
function mergeWindow(
  query: ProviderQuery,
  { first, end }: Window,
  counts: ChangeCounts,
  indexes: ChangedIndexes,
): SearchResult | undefined {
  const { base, added, removed } = indexes;
  const from = query.offset;
  const limit = query.limit === 0 ? 0 : end - first;
  const window = { context: base.context, result: base.index.search({ ...query, offset: first, limit }) };
  const staying = window.result.totalCount - counts.removed;
  const totalCount = staying + counts.added;
  const length = Math.max(0, Math.min(query.limit, totalCount - from));
  if (length === 0) return emptyPage(query, totalCount);
  if (first > 0 && window.result.rows.length === 0) return undefined;
  const kept = keptPlaces(window.result, indexes);
  // Staying and added rows before the window: its first row is at the place of both together.
  const lowRank = first - (first === 0 ? 0 : countBefore(window, query, removed, counts.removed));
  const lowAdded = first === 0 ? 0 : countBefore(window, query, added, counts.added);
  const to = from + length;
  if (lowRank + lowAdded > from || lowRank + kept.length < Math.min(staying, to)) return undefined;
  const page = { offset: lowAdded, limit: to - lowRank - lowAdded };
  const newcomers = { context: added.context, result: added.index.search({ ...query, ...page }) };
  const cut: Cut = { from, length, staying, lowRank, lowAdded, kept, window, newcomers, query };
  return { totalCount, ...takePage(cut) };
}

// Positions in the window of the rows that are still valid.
function keptPlaces({ rows }: SearchResult, { base, removedIds }: ChangedIndexes): Uint32Array {
  const { idOf } = base.context;
  const kept = new Uint32Array(rows.length);
  let count = 0;
  for (let place = 0; place < rows.length; place++) {
    if (!removedIds.has(idOf(rows[place] as number))) kept[count++] = place;
  }
  return kept.subarray(0, count);
}

// Number of rows of a small index before the window's first one. They are counted one by one, since sorting
// them costs more.
function countBefore(window: OrderedRows, query: ProviderQuery, subIndex: SubIndex, limit: number): number {
  const inAnyOrder = { ...query, sort: anyOrder, offset: 0, limit };
  const rows = { context: subIndex.context, result: subIndex.index.search(inAnyOrder) };
  const compare = comparePlaces(query, rows, window);
  let count = 0;
  for (let place = 0; place < rows.result.rows.length; place++) if (compare(place, 0) < 0) count++;
  return count;
}

// In row order.
const anyOrder = [{ field: 'npi', isDescending: false }] as const;

interface Cut {
  readonly query: ProviderQuery;
  /** Position of the page's first row among all. */
  readonly from: number;
  /** Rows of the page. */
  readonly length: number;
  /** Rows of the base that match and are still valid. */
  readonly staying: number;
  /** Staying rows before the window. */
  readonly lowRank: number;
  /** Added rows before the window. */
  readonly lowAdded: number;
  /** Places in the window of the staying rows. */
  readonly kept: Uint32Array;
  readonly window: OrderedRows;
  readonly newcomers: OrderedRows;
}

function takePage(cut: Cut): Pick<SearchResult, 'rows' | 'distances'> {
  const { length, staying, lowRank, kept, window, newcomers } = cut;
  const compare = comparePlaces(cut.query, newcomers, window);
  const isAddedFirst = (newcomer: number, rank: number): boolean =>
    compare(newcomer, kept[rank - lowRank] as number) < 0;
  const rows = new Uint32Array(length);
  const distances = cut.query.radius === undefined ? undefined : new Float64Array(length);
  let newcomer = countAddedBefore(cut, isAddedFirst);
  let rank = cut.from - cut.lowAdded - newcomer;
  for (let place = 0; place < length; place++) {
    const isNew =
      newcomer < newcomers.result.rows.length && (rank >= staying || isAddedFirst(newcomer, rank));
    const source = isNew ? newcomers.result : window.result;
    const at = isNew ? newcomer++ : (kept[rank++ - lowRank] as number);
    rows[place] = (source.rows[at] as number) + (isNew ? window.context.rowCount : 0);
    if (distances !== undefined) distances[place] = source.distances?.[at] as number;
  }
  return distances === undefined ? { rows } : { rows, distances };
}

// Number of new rows before the page: the position where both sequences are split.
function countAddedBefore(
  { from, staying, lowRank, lowAdded, newcomers }: Cut,
  isAddedFirst: (newcomer: number, rank: number) => boolean,
): number {
  // The page's first row, counted from the window's on.
  const start = from - lowAdded;
  let low = Math.max(0, start - staying);
  let high = Math.min(newcomers.result.rows.length, start - lowRank);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isAddedFirst(middle, start - 1 - middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
