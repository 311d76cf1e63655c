import { hasBit } from '../bits.ts';
import type { TextColumn } from '../text-column.ts';

/** A page found by going through a column's rows in order instead of sorting the result. */
export interface ColumnWalk {
  readonly column: TextColumn;
  readonly isDescending: boolean;
  /** Only groups [first, end) hold matching rows. */
  readonly first: number;
  readonly end: number;
  /** The matching rows; absent if all rows of those groups match. */
  readonly bits: Uint32Array | undefined;
  /** Matching rows in all. */
  readonly count: number;
  /** Gives places `low` to `high` of a group's rows in order; absent if the postings are in that order already. */
  readonly orderGroup: ((rows: Uint32Array, low: number, high: number) => Uint32Array) | undefined;
  /** Places [from, to) of the order are wanted. */
  readonly from: number;
  readonly to: number;
  /** Gives up after looking at so many rows. */
  readonly maxSteps: number;
}

// Matching rows asked before a walk begins.
const sampleSize = 64;

/**
 * Whether a sample of the matching rows says that the page lies further away than the walk may go, for example because
 * all of them have late values. A guess, which saves going there in vain.
 */
export function isLongWalk(walk: Omit<ColumnWalk, 'orderGroup'>): boolean {
  const { column, bits, first, end, count, from, to, maxSteps } = walk;
  if (bits === undefined) return false;
  const { starts, codes } = column;
  const isFromEnd = count - to < from;
  const isUpward = walk.isDescending === isFromEnd;
  const ways = sampleRows(bits).map((row) => {
    const group = codes[row] as number;
    return isUpward
      ? (starts[group] as number) - (starts[first] as number)
      : (starts[end] as number) - (starts[group + 1] as number);
  });
  ways.sort();
  const share = (isFromEnd ? count - from : to) / count;
  return (ways[Math.floor(share * (ways.length - 1))] ?? 0) > maxSteps;
}

function sampleRows(bits: Uint32Array): Float64Array {
  const rows: number[] = [];
  const step = Math.max(1, Math.floor(bits.length / sampleSize));
  for (let start = 0; start < bits.length; start += step) {
    let word = start;
    while (word < Math.min(start + step, bits.length) && bits[word] === 0) word++;
    const found = word < start + step ? (bits[word] ?? 0) : 0;
    if (found !== 0) rows.push((word << 5) + (31 - Math.clz32(found & -found)));
  }
  return Float64Array.from(rows);
}

/** The rows of the page, or undefined if the walk got too long. Starts at the nearer end. */
export function walkColumn(walk: ColumnWalk): Uint32Array | undefined {
  const { count, from, to } = walk;
  const isFromEnd = count - to < from;
  const page = new Uint32Array(to - from);
  const groupTotal = walk.end - walk.first;
  let steps = 0;
  let place = isFromEnd ? count : 0;
  for (let index = 0; index < groupTotal; index++) {
    if (isFromEnd ? place <= from : place >= to) break;
    const group = groupAt(walk, isFromEnd ? groupTotal - 1 - index : index);
    const size = (walk.column.starts[group + 1] as number) - (walk.column.starts[group] as number);
    if (size === 0) continue;
    steps += size;
    if (steps > walk.maxSteps) return undefined;
    place = isFromEnd
      ? place - takeGroup(walk, group, page, place, true)
      : place + takeGroup(walk, group, page, place, false);
  }
  return page;
}

// Groups in the order of the walk; the blank one stays last in both directions.
function groupAt({ column, isDescending, first, end }: ColumnWalk, index: number): number {
  if (!isDescending) return first + index;
  const hasBlank = end === column.groupCount;
  if (!hasBlank) return end - 1 - index;
  return index === end - first - 1 ? column.blankGroup : end - 2 - index;
}

// Puts those rows of the group that belong to the page there; returns how many rows of the group match.
function takeGroup(
  walk: ColumnWalk,
  group: number,
  page: Uint32Array,
  place: number,
  isBefore: boolean,
): number {
  const { column, bits, from, to } = walk;
  const start = column.starts[group] as number;
  const end = column.starts[group + 1] as number;
  const matching = bits === undefined ? end - start : countMatching(column.postings, bits, start, end);
  const firstPlace = isBefore ? place - matching : place;
  const low = Math.max(0, from - firstPlace);
  const high = Math.min(matching, to - firstPlace);
  if (low < high) copyWindow(walk, start, end, matching, low, high, page.subarray(firstPlace + low - from));
  return matching;
}

function countMatching(
  postings: Uint32Array | undefined,
  bits: Uint32Array,
  start: number,
  end: number,
): number {
  let count = 0;
  for (let index = start; index < end; index++) {
    const row = postings === undefined ? index : (postings[index] as number);
    count += ((bits[row >>> 5] as number) >>> (row & 31)) & 1;
  }
  return count;
}

// Rows `low` to `high` of the group's matching rows, in order.
function copyWindow(
  walk: ColumnWalk,
  start: number,
  end: number,
  matching: number,
  low: number,
  high: number,
  target: Uint32Array,
): void {
  const { column, bits, orderGroup } = walk;
  const rows = new Uint32Array(orderGroup === undefined ? high : matching);
  gatherMatching(column.postings, bits, start, end, rows);
  target.set(orderGroup === undefined ? rows.subarray(low) : orderGroup(rows, low, high));
}

// Fills `rows` with the first matching rows of the group.
function gatherMatching(
  postings: Uint32Array | undefined,
  bits: Uint32Array | undefined,
  start: number,
  end: number,
  rows: Uint32Array,
): void {
  let found = 0;
  for (let index = start; index < end && found < rows.length; index++) {
    const row = postings === undefined ? index : (postings[index] as number);
    if (bits === undefined || hasBit(bits, row)) rows[found++] = row;
  }
}
