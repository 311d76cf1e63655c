/**
 * Finds the groups of a column that match a text: by binary search for whole texts and prefixes, by trigram
 * lists for substrings.
 */
import type { AlternateKey } from './columns.ts';
import type { TextColumn } from './text-column.ts';

/**
 * Groups [first, end) whose folded text starts with `wanted` (UTF-8). The blank group only for the empty
 * text.
 */
export function groupsWithPrefix(column: TextColumn, wanted: Uint8Array): readonly [number, number] {
  if (wanted.length === 0) return [0, column.groupCount];
  const first = search(column.blankGroup, (position) => compareStart(column, position, wanted) < 0);
  const end =
    first +
    search(column.blankGroup - first, (position) => compareStart(column, first + position, wanted) <= 0);
  return [first, end];
}

/** Groups [first, end) whose folded text is `wanted`: one or none. */
export function groupsEqualTo(column: TextColumn, wanted: Uint8Array): readonly [number, number] {
  if (wanted.length === 0) return [column.blankGroup, column.groupCount];
  const [first, end] = groupsWithPrefix(column, wanted);
  // The shortest text with that beginning comes first.
  return first < end && column.loadFolded(first) === wanted.length ? [first, first + 1] : [first, first];
}

/**
 * Groups [first, end) of the alternate order, or of the column if it has none, whose key starts with
 * `wanted`.
 */
export function groupsWithAlternatePrefix(
  column: TextColumn,
  wanted: Uint8Array,
  putKey: AlternateKey,
): readonly [number, number] {
  const order = column.alternate?.order;
  const groupAt = (position: number): number =>
    order === undefined ? position : (order[position] as number);
  const compare = (position: number): number => compareKey(column, groupAt(position), wanted, putKey);
  const first = search(column.blankGroup, (position) => compare(position) < 0);
  return [first, first + search(column.blankGroup - first, (position) => compare(first + position) <= 0)];
}

// The number of leading positions for which the condition holds.
function search(length: number, isBefore: (position: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Zero if the group's text starts with `wanted`.
function compareStart(column: TextColumn, group: number, wanted: Uint8Array): number {
  return compareBytes(column.scratch, column.loadFolded(group), wanted);
}

function compareKey(column: TextColumn, group: number, wanted: Uint8Array, putKey: AlternateKey): number {
  const { scratch } = column;
  return compareBytes(scratch, putKey(scratch, 0, column.loadFolded(group), scratch, 0), wanted);
}

function compareBytes(text: Uint8Array, length: number, wanted: Uint8Array): number {
  for (let at = 0; at < wanted.length; at++) {
    if (at === length) return -1;
    const difference = (text[at] as number) - (wanted[at] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}
