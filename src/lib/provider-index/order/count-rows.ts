import type { Ascending } from '../ascending.ts';
import type { CodeArray } from '../arrays.ts';

/**
 * Rows in groups, and runs of `2 ** shift` groups as buckets. The last group is alone in bucket 0; numbers
 * rise toward the first group.
 */
export interface Buckets {
  readonly codes: CodeArray;
  readonly starts: Ascending;
  readonly postings: Uint32Array | undefined;
  readonly shift: number;
}

/** Groups [first, end) of a bucket. */
export function groupsOfBucket({ starts, shift }: Buckets, bucket: number): readonly [number, number] {
  const last = starts.length - 2;
  return [Math.max(0, last - (bucket << shift)), bucket === 0 ? last + 1 : last - ((bucket - 1) << shift)];
}

export function bucketCountOf({ starts, shift }: Buckets): number {
  return 1 + Math.ceil((starts.length - 2) / (1 << shift));
}

/** Number of postings in the set; all of them without a set. */
export function countMatching(
  postings: Uint32Array | undefined,
  bits: Uint32Array | undefined,
  start: number,
  end: number,
): number {
  if (bits === undefined) return end - start;
  let count = 0;
  for (let index = start; index < end; index++) {
    const row = postings === undefined ? index : (postings[index] as number);
    count += ((bits[row >>> 5] as number) >>> (row & 31)) & 1;
  }
  return count;
}

/**
 * Number of rows per bucket for a set of `count` rows. Scans the set or its complement,
 * whichever is smaller, in row order: where the rows are in the order makes no difference.
 */
export function countByBucket(buckets: Buckets, bits: Uint32Array, count: number): Uint32Array {
  const { codes, starts } = buckets;
  const counts = new Uint32Array(bucketCountOf(buckets));
  const isComplement = count * 2 > codes.length;
  addCounts(buckets, bits, isComplement ? 0xffffffff : 0, counts);
  if (!isComplement) return counts;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const [first, end] = groupsOfBucket(buckets, bucket);
    counts[bucket] = starts.at(end) - starts.at(first) - (counts[bucket] as number);
  }
  return counts;
}

function addCounts(
  { codes, starts, shift }: Buckets,
  bits: Uint32Array,
  inverted: number,
  counts: Uint32Array,
): void {
  const rowCount = codes.length;
  const offset = starts.length - 2 + (1 << shift) - 1;
  for (let word = 0; word < bits.length; word++) {
    const first = word << 5;
    let left = (bits[word] as number) ^ inverted;
    // The last word of a complement has bits after the last row.
    if (first + 32 > rowCount) left &= (1 << (rowCount - first)) - 1;
    for (; left !== 0; left &= left - 1) {
      const bucket = (offset - (codes[first + 31 - Math.clz32(left & -left)] as number)) >>> shift;
      counts[bucket] = (counts[bucket] as number) + 1;
    }
  }
}
