import { gatherCodes } from '../arrays.ts';
import type { PointMap } from '../points.ts';
import { sectionFinder, type Sections } from '../sections.ts';
import type { TextColumn } from '../text-column.ts';
import type { BucketRange, ColumnPage } from './find-buckets.ts';

/** The page of a column, of the rows at some points. */
export interface PointsPage extends Pick<ColumnPage, 'column' | 'isDescending' | 'from' | 'to'> {
  readonly map: PointMap;
  /** For each point 1 if its rows are wanted, else 0. */
  readonly members: Uint8Array;
}

/** For each point 1 if it is in one of the ranges, else 0. */
export function membersOf(ranges: Uint32Array, { count }: PointMap): Uint8Array {
  // Rows without coordinates have the code behind the last point.
  const members = new Uint8Array(count + 1);
  for (let at = 0; at < ranges.length; at += 2) members.fill(1, ranges[at], ranges[at + 1]);
  return members;
}

/**
 * Keeps the rows at these points, in their order, in the front of the array. Without a branch: about half of the rows stay, and a
 * wrong prediction costs more than the rest of the turn.
 */
export function rowsAtMembers({ codes }: PointMap, members: Uint8Array, rows: Uint32Array): Uint32Array {
  const points = new Uint32Array(rows.length);
  gatherCodes(codes, rows, points);
  let kept = 0;
  for (let index = 0; index < rows.length; index++) {
    rows[kept] = rows[index] as number;
    kept += members[points[index] as number] as number;
  }
  return rows.subarray(0, kept);
}

/** Finds the sections that a page is in. */
export function findSections(page: PointsPage, sections: Sections): BucketRange {
  const { isDescending, from, to } = page;
  const { firsts } = sections;
  const counts = countBySection(page, sections);
  const blank = counts.length - 1;
  const groups: [first: number, end: number][] = [];
  let before = 0;
  let seen = 0;
  for (let place = 0; seen < to; place++) {
    const section = isDescending && place < blank ? blank - 1 - place : place;
    seen += counts[section] as number;
    if (seen <= from) before = seen;
    else addGroups(groups, firsts[section] as number, firsts[section + 1] as number);
  }
  return { groups, count: seen - before, before };
}

// Neighbours become one run, whatever the direction.
function addGroups(groups: [first: number, end: number][], first: number, end: number): void {
  const last = groups.at(-1);
  if (last?.[1] === first) last[1] = end;
  else if (last?.[0] === end) last[0] = first;
  else groups.push([first, end]);
}

// A cell that is partly inside is counted by its points inside, or by those outside, whichever have fewer rows.
function countBySection({ map, members, column }: PointsPage, sections: Sections): Int32Array {
  const { cells, starts } = map;
  const sectionCount = sections.firsts.length - 1;
  const found = new Int32Array(sectionCount);
  const [added, removed] = [createRowList(), createRowList()];
  for (let cell = 0; cell + 1 < cells.length; cell++) {
    const [first, end] = [cells[cell] as number, cells[cell + 1] as number];
    const inside = rowsInside(map, members, first, end);
    if (inside === 0) continue;
    const all = (starts[end] as number) - (starts[first] as number);
    const isMostlyInside = inside * 2 > all;
    if (isMostlyInside)
      for (let section = 0, at = cell * sectionCount; section < sectionCount; section++, at++)
        found[section] = (found[section] as number) + (sections.counts[at] as number);
    if (inside === all) continue;
    const list = isMostlyInside ? removed : added;
    for (let point = first; point < end; point++)
      if ((members[point] === 1) !== isMostlyInside)
        list.push(map.postings.subarray(starts[point], starts[point + 1]));
  }
  countRows(column, sections, added.rows(), 1, found);
  countRows(column, sections, removed.rows(), -1, found);
  return found;
}

function rowsInside({ starts }: PointMap, members: Uint8Array, first: number, end: number): number {
  let rows = 0;
  for (let point = first; point < end; point++)
    rows += (members[point] as number) * ((starts[point + 1] as number) - (starts[point] as number));
  return rows;
}

interface RowList {
  push(rows: Uint32Array): void;
  rows(): Uint32Array;
}

function createRowList(): RowList {
  let list = new Uint32Array(1 << 15);
  let count = 0;
  return {
    push(rows) {
      if (count + rows.length > list.length) {
        const larger = new Uint32Array(Math.max(list.length * 2, count + rows.length));
        larger.set(list);
        list = larger;
      }
      list.set(rows, count);
      count += rows.length;
    },
    rows: () => list.subarray(0, count),
  };
}

/** Adds `step` for each row to the count of its section. */
function countRows(
  { codes }: TextColumn,
  sections: Sections,
  rows: Uint32Array,
  step: number,
  found: Int32Array,
): void {
  const groups = new Uint32Array(rows.length);
  gatherCodes(codes, rows, groups);
  const sectionOf = sectionFinder(sections);
  for (let index = 0; index < groups.length; index++) {
    const section = sectionOf(groups[index] as number);
    found[section] = (found[section] as number) + step;
  }
}
