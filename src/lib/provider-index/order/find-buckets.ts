import { hasBit } from '../bits.ts';
import type { TextColumn } from '../text-column.ts';
import { bucketCountOf, countByBucket, countMatching, groupsOfBucket, type Buckets } from './count-rows.ts';

/** The places [from, to) of a result in the order of one column. */
export interface ColumnPage {
  readonly column: TextColumn;
  readonly isDescending: boolean;
  /** The matching rows; absent if every row matches. */
  readonly bits: Uint32Array | undefined;
  /** Matching rows in all. */
  readonly count: number;
  readonly from: number;
  readonly to: number;
}

/** Whole groups that hold the wanted rows. */
export interface BucketRange {
  /** Groups as [first, end), in the order of the page. */
  readonly groups: readonly (readonly [number, number])[];
  /** Matching rows in these groups, and before them. */
  readonly count: number;
  readonly before: number;
}

// Few enough buckets for their counters to stay in the processor's cache.
const maxBuckets = 4096;
// A first page is mostly found within so many rows for each row of a short result; further away, counting the
// whole result may cost less.
const nearFactor = 12;
// Asking whether a row matches costs this much of counting a matching row into its bucket.
const askingCost = 0.6;

/**
 * Finds the groups that a page is in. Their matching rows are counted bucket by bucket from the nearer end,
 * or, if that is too far, for all buckets at once.
 */
export function findBuckets(page: ColumnPage, shortResult: number): BucketRange {
  const { column, bits, count, from, to } = page;
  const { starts, postings, codes } = column;
  const shift = Math.max(0, 32 - Math.clz32(Math.floor((column.groupCount - 1) / maxBuckets)));
  const buckets = { codes, starts, postings, shift };
  if (bits === undefined) return walk(page, buckets, Infinity) as BucketRange;
  // If the result is spread evenly over the order, so many rows are visited; if it is not, the walk ends
  // there.
  const nearest = Math.min(to, count - from);
  const expected = (nearest / count) * codes.length;
  const counted = Math.min(count, codes.length - count);
  const most = Math.max(shortResult * nearFactor, counted / askingCost);
  const found = expected > most ? undefined : walk(page, buckets, most);
  return found ?? (walk(page, buckets, Infinity, countByBucket(buckets, bits, count)) as BucketRange);
}

/**
 * From the nearer end; undefined after `mostRows` that did not hold the page. `counts` are known beforehand.
 */
function walk(
  { bits, isDescending, count, from, to }: ColumnPage,
  buckets: Buckets,
  mostRows: number,
  counts?: Uint32Array,
): BucketRange | undefined {
  const { starts, postings } = buckets;
  const bucketCount = bucketCountOf(buckets);
  const isBackward = from > count - to;
  const groups: (readonly [number, number])[] = [];
  // Places from that end on.
  const [low, high] = isBackward ? [count - to, count - from] : [from, to];
  let visited = 0;
  let seen = 0;
  let before = 0;
  for (let step = 1; seen < high; step++) {
    const place = isBackward ? bucketCount + 1 - step : step;
    // The blank group, bucket 0, is the last one in both directions.
    const bucket = place === bucketCount ? 0 : isDescending ? place : bucketCount - place;
    const [first, end] = groupsOfBucket(buckets, bucket);
    const [start, stop] = [starts.at(first), starts.at(end)];
    visited += stop - start;
    if (visited > mostRows) return undefined;
    const matching = counts?.[bucket] ?? countMatching(postings, bits, start, stop);
    seen += matching;
    if (seen <= low) before = seen;
    else if (matching > 0) groups.push([first, end]);
  }
  return isBackward
    ? { groups: groups.reverse(), count: seen - before, before: count - seen }
    : { groups, count: seen - before, before };
}

/**
 * Places [low, high) of the `count` matching rows of some postings, in their order; counts from the nearer
 * end.
 */
export function takePlaces(
  { column: { postings }, bits }: Pick<ColumnPage, 'column' | 'bits'>,
  { start, end, count }: { readonly start: number; readonly end: number; readonly count: number },
  low: number,
  high: number,
): Uint32Array {
  let at = start;
  let seen = 0;
  if (low * 2 > count) {
    at = end;
    seen = count;
    while (seen > low) {
      const next = Math.max(start, at - blockRows);
      seen -= countMatching(postings, bits, next, at);
      at = next;
    }
  }
  const rows = new Uint32Array(high - low);
  while (seen < high) {
    const next = Math.min(end, at + blockRows);
    const matching = countMatching(postings, bits, at, next);
    if (seen + matching > low) seen = copyPlaces(postings, bits, at, next, seen, low, rows);
    else seen += matching;
    at = next;
  }
  return rows;
}

// Postings counted at once.
const blockRows = 1024;

// Copies the matching rows whose places belong to `rows`, which begin at place `low`; returns the place after
// the last one.
function copyPlaces(
  postings: Uint32Array | undefined,
  bits: Uint32Array | undefined,
  start: number,
  end: number,
  seen: number,
  low: number,
  rows: Uint32Array,
): number {
  let place = seen;
  for (let index = start; index < end; index++) {
    const row = postings === undefined ? index : (postings[index] as number);
    if (bits !== undefined && !hasBit(bits, row)) continue;
    if (place >= low && place - low < rows.length) rows[place - low] = row;
    place++;
  }
  return place;
}
