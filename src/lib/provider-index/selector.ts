import { hasBit, invert, rowsOfBits, setBit, setBits, wordCount } from './bits.ts';
import type { Ascending } from './ascending.ts';
import { gatherCodes, type CodeArray } from './arrays.ts';

/** Rows put into groups: a text column, or the points of the map. */
export interface GroupedRows {
  readonly codes: CodeArray;
  /** From a code to its group, if these differ. */
  readonly ranks?: Uint32Array;
  readonly starts: Ascending;
  readonly postings: Uint32Array | undefined;
}

/** Groups of a column: `ranges` holds pairs [first, end), ascending and apart. */
export interface RangeSelector {
  readonly kind: 'groups';
  readonly column: GroupedRows;
  readonly ranges: Uint32Array;
  readonly count: number;
}

/** The rows that one condition selects, in the form that came cheapest. */
export type Selector =
  | RangeSelector
  /** A set that must not be written to. */
  | {
      readonly kind: 'bits';
      readonly bits: Uint32Array;
      readonly count: number;
      /** Identifies a set that many queries use, so that results derived from it are cached. */
      readonly name?: string;
    }
  /** Row numbers in any order. */
  | { readonly kind: 'rows'; readonly rows: Uint32Array; readonly count: number };

export function selectRanges(column: GroupedRows, ranges: Uint32Array): RangeSelector {
  let count = 0;
  for (let at = 0; at < ranges.length; at += 2) {
    count += column.starts.at(ranges[at + 1] as number) - column.starts.at(ranges[at] as number);
  }
  return { kind: 'groups', column, ranges, count };
}

/** Single groups, ascending, as ranges. */
export function selectGroups(column: GroupedRows, groups: Uint32Array): RangeSelector {
  const ranges = new Uint32Array(groups.length * 2);
  let end = 0;
  for (let index = 0; index < groups.length; index++) {
    const group = groups[index] as number;
    if (end > 0 && ranges[end - 1] === group) {
      ranges[end - 1] = group + 1;
    } else {
      ranges[end++] = group;
      ranges[end++] = group + 1;
    }
  }
  return selectRanges(column, ranges.subarray(0, end));
}

/** All rows of a selector, in any order; the array may be written to. */
export function gatherRows(selector: Selector): Uint32Array {
  switch (selector.kind) {
    case 'rows':
      return selector.rows.slice();
    case 'bits':
      return rowsOfBits(selector.bits, selector.count);
    case 'groups':
      return gatherGroups(selector.column, selector.ranges, selector.count);
  }
}

function gatherGroups({ starts, postings }: GroupedRows, ranges: Uint32Array, count: number): Uint32Array {
  const rows = new Uint32Array(count);
  let found = 0;
  for (let at = 0; at < ranges.length; at += 2) {
    const end = starts.at(ranges[at + 1] as number);
    for (let index = starts.at(ranges[at] as number); index < end; index++) {
      rows[found++] = postings === undefined ? index : (postings[index] as number);
    }
  }
  return rows;
}

/** Overwrites `bits` with the rows of the selector. */
export function writeBits(selector: Selector, bits: Uint32Array, rowCount: number): void {
  if (selector.kind === 'bits') {
    bits.set(selector.bits);
  } else if (selector.kind === 'rows') {
    bits.fill(0);
    for (let index = 0; index < selector.rows.length; index++) setBit(bits, selector.rows[index] as number);
  } else {
    // Of a set and its complement the smaller one is touched row by row.
    if (selector.count * 2 > rowCount) writeComplement(selector.column, selector.ranges, bits, rowCount);
    else writeGroups(selector.column, selector.ranges, bits);
  }
}

function writeGroups({ starts, postings }: GroupedRows, ranges: Uint32Array, bits: Uint32Array): void {
  bits.fill(0);
  addGroups({ starts, postings }, ranges, bits);
}

/** Adds the rows of the groups to the set. */
export function addGroups(
  { starts, postings }: Omit<GroupedRows, 'codes'>,
  ranges: Uint32Array,
  bits: Uint32Array,
): void {
  for (let at = 0; at < ranges.length; at += 2) {
    const end = starts.at(ranges[at + 1] as number);
    const start = starts.at(ranges[at] as number);
    if (postings === undefined) for (let row = start; row < end; row++) setBit(bits, row);
    else for (let index = start; index < end; index++) setBit(bits, postings[index] as number);
  }
}

function writeComplement(
  { starts, postings }: GroupedRows,
  ranges: Uint32Array,
  bits: Uint32Array,
  rowCount: number,
): void {
  const groupCount = starts.length - 1;
  bits.fill(0);
  // The gaps between the ranges.
  const gaps = new Uint32Array(ranges.length + 2);
  gaps.set(ranges, 1);
  gaps[ranges.length + 1] = groupCount;
  addGroups({ starts, postings }, gaps, bits);
  invert(bits, rowCount);
}

/** Keeps those of the first `count` rows that the selector has too, at the front; returns how many. */
export function filterRows(selector: Selector, rows: Uint32Array, count: number, rowCount: number): number {
  if (selector.kind === 'groups') {
    const { column, ranges } = selector;
    const { codes, ranks } = column;
    if (ranges.length !== 2)
      return filterByMask(column, maskOf(ranges, column.starts.length - 1), rows, count);
    if (ranks !== undefined) return filterByRank(codes, ranks, ranges, rows, count);
    return filterByRange(codes, ranges[0] as number, ranges[1] as number, rows, count);
  }
  const bits = selector.kind === 'bits' ? selector.bits : new Uint32Array(wordCount(rowCount));
  if (selector.kind === 'rows') writeBits(selector, bits, rowCount);
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const row = rows[index] as number;
    rows[kept] = row;
    kept += ((bits[row >>> 5] as number) >>> (row & 31)) & 1;
  }
  return kept;
}

/** Rows whose codes are read together: few enough for working memory that stays in the processor's cache. */
export const blockRows = 2048;
const codesOfBlock = new Uint32Array(blockRows);

/**
 * Puts those of at most `blockRows` rows whose code is in [first, end) behind the first `kept` ones of an
 * array; returns how many it has then. Without a branch: a wrong prediction costs more than the rest of the
 * turn.
 */
export function keepInRange(
  codes: CodeArray,
  first: number,
  end: number,
  rows: Uint32Array,
  into: Uint32Array,
  kept: number,
): number {
  gatherCodes(codes, rows, codesOfBlock);
  const last = end - 1;
  let keptEnd = kept;
  for (let index = 0; index < rows.length; index++) {
    const code = codesOfBlock[index] as number;
    into[keptEnd] = rows[index] as number;
    // The sign says whether one of the differences is negative.
    keptEnd += 1 + (((code - first) | (last - code)) >> 31);
  }
  return keptEnd;
}

function filterByRange(
  codes: CodeArray,
  first: number,
  end: number,
  rows: Uint32Array,
  count: number,
): number {
  let kept = 0;
  for (let start = 0; start < count; start += blockRows) {
    const block = rows.subarray(start, Math.min(count, start + blockRows));
    kept = keepInRange(codes, first, end, block, rows, kept);
  }
  return kept;
}

function filterByRank(
  codes: CodeArray,
  ranks: Uint32Array,
  ranges: Uint32Array,
  rows: Uint32Array,
  count: number,
): number {
  const [first = 0, end = 0] = ranges;
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const row = rows[index] as number;
    const rank = ranks[codes[row] as number] as number;
    rows[kept] = row;
    if (rank >= first && rank < end) kept++;
  }
  return kept;
}

function filterByMask(
  { codes, ranks }: GroupedRows,
  mask: Uint32Array,
  rows: Uint32Array,
  count: number,
): number {
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const row = rows[index] as number;
    rows[kept] = row;
    const code = codes[row] as number;
    if (hasBit(mask, ranks === undefined ? code : (ranks[code] as number))) kept++;
  }
  return kept;
}

/** The groups of the ranges as a set. */
export function maskOf(ranges: Uint32Array, groupCount: number): Uint32Array {
  const mask = new Uint32Array(wordCount(groupCount));
  for (let at = 0; at < ranges.length; at += 2) setBits(mask, ranges[at] as number, ranges[at + 1] as number);
  return mask;
}
