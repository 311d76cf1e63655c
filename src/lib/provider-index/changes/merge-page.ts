import type { IndexPart } from '../open-index.ts';
import type { ProviderQuery, SearchResult } from '../types.ts';
import { comparePlaces, type ComparePlaces, type OrderedRows } from './row-order.ts';

/** A large index, with the little that has changed since. */
export interface ChangedParts {
  readonly base: IndexPart;
  readonly added: IndexPart;
  readonly removed: IndexPart;
  /** Ids of the removed records. */
  readonly removedIds: ReadonlySet<number>;
}

/** How many of the changed records a query concerns. */
export interface ChangeCounts {
  readonly added: number;
  readonly removed: number;
}

/**
 * The page as an index of base − removed + added would give it; added rows are numbered behind the base's. The base is
 * asked for a window that is wider than the page by as much as the changes can have moved it.
 */
export function mergePage(query: ProviderQuery, counts: ChangeCounts, parts: ChangedParts): SearchResult {
  const { base, added } = parts;
  const from = query.offset;
  const first = Math.max(0, from - counts.added);
  const window = base.index.search({
    ...query,
    offset: first,
    limit: query.limit === 0 ? 0 : from + query.limit + counts.removed - first,
  });
  const staying = window.totalCount - counts.removed;
  const totalCount = staying + counts.added;
  const length = Math.max(0, Math.min(query.limit, totalCount - from));
  if (length === 0) return emptyPage(query, totalCount);
  const newcomers = added.index.search({ ...query, offset: 0, limit: from + length });
  const kept = keptPlaces(window, parts);
  const firstRank = first - removedBefore(query, first, counts, window, parts);
  const compare = comparePlaces(
    query,
    { context: added.context, result: newcomers },
    { context: base.context, result: window },
  );
  const isAddedFirst: ComparePlaces = (newcomer, rank) => compare(newcomer, kept[rank - firstRank] as number);
  const skipped = countAddedBefore(from, staying, counts.added, isAddedFirst);
  return takePage({
    query,
    length,
    totalCount,
    staying,
    skipped,
    firstRank,
    kept,
    window,
    newcomers,
    parts,
    isAddedFirst,
  });
}

function emptyPage({ radius }: ProviderQuery, totalCount: number): SearchResult {
  const rows = new Uint32Array(0);
  return radius === undefined ? { totalCount, rows } : { totalCount, rows, distances: new Float64Array(0) };
}

// Places in the window of the rows that still hold.
function keptPlaces({ rows }: SearchResult, { base, removedIds }: ChangedParts): Uint32Array {
  const { ids } = base.context;
  const kept = new Uint32Array(rows.length);
  let count = 0;
  for (let place = 0; place < rows.length; place++) {
    if (!removedIds.has(ids[rows[place] as number] as number)) kept[count++] = place;
  }
  return kept.subarray(0, count);
}

// How many removed rows lie before the window, whose first row is there in the whole base.
function removedBefore(
  query: ProviderQuery,
  first: number,
  counts: ChangeCounts,
  window: SearchResult,
  { base, removed }: ChangedParts,
): number {
  if (first === 0 || counts.removed === 0) return 0;
  const gone: OrderedRows = {
    context: removed.context,
    result: removed.index.search({ ...query, offset: 0, limit: counts.removed }),
  };
  const compare = comparePlaces(query, gone, { context: base.context, result: window });
  let low = 0;
  let high = counts.removed;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(middle, 0) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

// How many of the first `from` merged rows are added ones: the place where both sequences are cut.
function countAddedBefore(
  from: number,
  staying: number,
  addedCount: number,
  compare: (newcomer: number, rank: number) => number,
): number {
  let low = Math.max(0, from - staying);
  let high = Math.min(addedCount, from);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(middle, from - 1 - middle) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface Cut {
  readonly query: ProviderQuery;
  /** Rows of the page. */
  readonly length: number;
  readonly totalCount: number;
  /** Rows of the base that match and still hold. */
  readonly staying: number;
  /** Added rows before the page. */
  readonly skipped: number;
  /** Rank, among the staying rows, of the first one in `kept`. */
  readonly firstRank: number;
  readonly kept: Uint32Array;
  readonly window: SearchResult;
  readonly newcomers: SearchResult;
  readonly parts: ChangedParts;
  readonly isAddedFirst: ComparePlaces;
}

function takePage(cut: Cut): SearchResult {
  const { query, length, totalCount, staying, kept, window, newcomers } = cut;
  const rows = new Uint32Array(length);
  const distances = query.radius === undefined ? undefined : new Float64Array(length);
  const { rowCount } = cut.parts.base.context;
  let newcomer = cut.skipped;
  let rank = query.offset - cut.skipped;
  for (let place = 0; place < length; place++) {
    const isNew =
      newcomer < newcomers.rows.length && (rank >= staying || cut.isAddedFirst(newcomer, rank) < 0);
    const source = isNew ? newcomers : window;
    const from = isNew ? newcomer++ : (kept[rank++ - cut.firstRank] as number);
    rows[place] = (source.rows[from] as number) + (isNew ? rowCount : 0);
    if (distances !== undefined) distances[place] = source.distances?.[from] as number;
  }
  return distances === undefined ? { totalCount, rows } : { totalCount, rows, distances };
}
