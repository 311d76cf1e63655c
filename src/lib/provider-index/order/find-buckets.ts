import { hasBit } from '../bits.ts';
import type { TextColumn } from '../text-column.ts';
import { bucketCountOf, countByBucket, countMatching, groupsOfBucket } from './count-rows.ts';

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
// A first page is mostly found within so many rows; further away, counting the whole result costs less.
const nearRows = 50_000;

/**
 * Finds the groups that a page lies in. Their matching rows are counted bucket by bucket from the beginning, and beyond
 * the near rows for all buckets at once.
 */
export function findBuckets({ column, isDescending, bits, count, from, to }: ColumnPage): BucketRange {
  const { starts, postings, codes } = column;
  const shift = Math.max(0, 32 - Math.clz32(Math.floor((column.groupCount - 1) / maxBuckets)));
  const buckets = { codes, starts, postings, shift };
  const bucketCount = bucketCountOf(buckets);
  const groups: (readonly [number, number])[] = [];
  let counts: Uint32Array | undefined;
  let visited = 0;
  let seen = 0;
  let before = 0;
  for (let place = 1; seen < to; place++) {
    // The blank group, bucket 0, is the last one in both directions.
    const bucket = place === bucketCount ? 0 : isDescending ? place : bucketCount - place;
    const [first, end] = groupsOfBucket(buckets, bucket);
    const low = starts[first] as number;
    const high = starts[end] as number;
    visited += high - low;
    if (bits !== undefined && visited > nearRows) counts ??= countByBucket(buckets, bits, count);
    const matching = counts?.[bucket] ?? countMatching(postings, bits, low, high);
    seen += matching;
    if (seen <= from) before = seen;
    else if (matching > 0) groups.push([first, end]);
  }
  return { groups, count: seen - before, before };
}

/** Places [low, high) of the `count` matching rows of some postings, in their order; counts from the nearer end. */
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

// Copies the matching rows whose places belong to `rows`, which begin at place `low`; returns the place after the last one.
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
