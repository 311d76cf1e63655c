import { rowsOfBits } from '../bits.ts';
import type { TextColumn } from '../text-column.ts';

/** All rows of a result by stretches of one column's groups, in the order asked for; inside a stretch in any order. */
export interface ArrangedRows {
  readonly rows: Uint32Array;
  /** The place of each stretch's first row, and one more. */
  readonly starts: Uint32Array;
}

/** What an arrangement is made of. */
export interface ArrangeRequest {
  readonly bits: Uint32Array;
  readonly count: number;
  readonly column: TextColumn;
  readonly isDescending: boolean;
}

// Few enough for their counters to stay in the processor's cache while hundreds of thousands of rows are counted.
const maxStretches = 16_384;

/** Puts the rows of a set into stretches by counting: every page of the result then lies in one or two of them. */
export function arrangeRows({ bits, count, column, isDescending }: ArrangeRequest): ArrangedRows {
  const { codes, groupCount, blankGroup } = column;
  const shift = Math.max(0, 32 - Math.clz32(Math.floor((groupCount - 1) / maxStretches)));
  // The blank group has a stretch of its own, because it comes last in both directions.
  const last = ((groupCount - 1) >>> shift) + 1;
  const starts = new Uint32Array(last + 2);
  const found = rowsOfBits(bits, count);
  const stretches = new Uint16Array(count);
  for (let index = 0; index < count; index++) {
    const code = codes[found[index] as number] as number;
    const stretch = code === blankGroup ? last : isDescending ? last - 1 - (code >>> shift) : code >>> shift;
    starts[stretch + 1] = (starts[stretch + 1] as number) + 1;
    stretches[index] = stretch;
  }
  for (let stretch = 0; stretch <= last; stretch++)
    starts[stretch + 1] = (starts[stretch + 1] as number) + (starts[stretch] as number);
  const cursors = starts.slice();
  const rows = new Uint32Array(count);
  for (let index = 0; index < count; index++) {
    const stretch = stretches[index] as number;
    const place = cursors[stretch] as number;
    rows[place] = found[index] as number;
    cursors[stretch] = place + 1;
  }
  return { rows, starts };
}

/** The stretches that hold the places `from` to `to`: their rows as an array of its own, and the first one's place. */
export function stretchesAt(
  { rows, starts }: ArrangedRows,
  from: number,
  to: number,
): { readonly rows: Uint32Array; readonly start: number } {
  const start = starts[lastNotAbove(starts, from)] as number;
  const end = starts[lastNotAbove(starts, to - 1) + 1] as number;
  return { rows: rows.slice(start, end), start };
}

// The last stretch that begins at or before a place; of several that begin there, only the last holds rows.
function lastNotAbove(starts: Uint32Array, place: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((starts[middle] as number) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
