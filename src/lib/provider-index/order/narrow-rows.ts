import type { OrderStep } from './row-key.ts';

/** Part of a result in no particular order, and how many rows of the result come before every one of them. */
export interface NarrowedRows {
  readonly rows: Uint32Array;
  readonly before: number;
}

// Small enough to stay in the processor's cache while hundreds of thousands of rows are counted.
const maxBuckets = 16_384;

/**
 * Rows of the set among which the places `from` to `to` of the order by one column lie, and few more: counts how many
 * rows fall into each stretch of the column's groups, and takes only those of the stretches that the window touches.
 */
export function narrowRows(
  bits: Uint32Array,
  { column, isDescending }: OrderStep & { readonly kind: 'text' },
  from: number,
  to: number,
): NarrowedRows {
  const { codes, groupCount, blankGroup } = column;
  const shift = Math.max(0, 32 - Math.clz32(Math.floor(groupCount / maxBuckets)));
  const blankBucket = ((groupCount - 1) >>> shift) + 1;
  // The blank group has a bucket of its own, because it comes last in both directions.
  const counts = new Uint32Array(blankBucket + 1);
  const bucketOf = (row: number): number => {
    const code = codes[row] as number;
    return code === blankGroup ? blankBucket : code >>> shift;
  };
  for (let word = 0; word < bits.length; word++) {
    for (let left = bits[word] as number; left !== 0; left &= left - 1) {
      const bucket = bucketOf((word << 5) + (31 - Math.clz32(left & -left)));
      counts[bucket] = (counts[bucket] as number) + 1;
    }
  }
  const { isTaken, before, count } = touchedBuckets(counts, isDescending, from, to);
  const rows = new Uint32Array(count);
  let found = 0;
  for (let word = 0; found < count; word++) {
    for (let left = bits[word] as number; left !== 0; left &= left - 1) {
      const row = (word << 5) + (31 - Math.clz32(left & -left));
      if (isTaken[bucketOf(row)] === 1) rows[found++] = row;
    }
  }
  return { rows, before };
}

interface TouchedBuckets {
  /** 1 for each bucket that the window touches. */
  readonly isTaken: Uint8Array;
  /** Rows in the buckets before those, and in those. */
  readonly before: number;
  readonly count: number;
}

function touchedBuckets(
  counts: Uint32Array,
  isDescending: boolean,
  from: number,
  to: number,
): TouchedBuckets {
  const last = counts.length - 1;
  const isTaken = new Uint8Array(counts.length);
  let place = 0;
  let before = 0;
  let count = 0;
  for (let step = 0; step <= last && place < to; step++) {
    const bucket = isDescending && step < last ? last - 1 - step : step;
    const size = counts[bucket] as number;
    if (place + size <= from) before += size;
    else {
      isTaken[bucket] = 1;
      count += size;
    }
    place += size;
  }
  return { isTaken, before, count };
}
