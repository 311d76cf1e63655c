import type { Sections } from '../sections.ts';
import { blockRows } from '../selector.ts';
import type { TextColumn } from '../text-column.ts';
import type { BucketRange, ColumnPage } from './find-buckets.ts';

/** The rows of a condition, which need not be looked at one by one to count them by sections. */
export interface SectionedRows {
  /** Rows in each section of a column. */
  countBySection(column: TextColumn, sections: Sections): Int32Array;
  /**
   * Puts those of at most `blockRows` rows that are among them behind the first `kept` ones of an array;
   * returns how many it has then.
   */
  keep(rows: Uint32Array, into: Uint32Array, kept: number): number;
}

/**
 * The rows of some groups of a column that are among the wanted ones, `count` in all, in the order of the
 * groups.
 */
export function rowsOfSections(
  wanted: SectionedRows,
  { starts, postings = noRows }: TextColumn,
  groups: BucketRange['groups'],
  count: number,
): Uint32Array {
  // A row that is not kept is overwritten by the next one.
  const rows = new Uint32Array(count + 1);
  let kept = 0;
  for (const [first, end] of groups) {
    const last = starts.at(end);
    for (let at = starts.at(first); at < last; at += blockRows)
      kept = wanted.keep(postings.subarray(at, Math.min(last, at + blockRows)), rows, kept);
  }
  return rows.subarray(0, kept);
}

const noRows = new Uint32Array(0);

/** Finds the sections that a page is in. */
export function findSections(
  { isDescending, from, to }: Pick<ColumnPage, 'isDescending' | 'from' | 'to'>,
  counts: Int32Array,
  { firsts }: Sections,
): BucketRange {
  const blank = counts.length - 1;
  const groups: [first: number, end: number][] = [];
  let before = 0;
  let seen = 0;
  for (let place = 0; seen < to; place++) {
    const section = isDescending && place < blank ? blank - 1 - place : place;
    seen += counts[section] as number;
    if (seen <= from) before = seen;
    else if (isDescending && section === blank)
      // Blanks are last in both directions, so they are no neighbors of the run before them.
      groups.push([firsts[blank] as number, firsts[blank + 1] as number]);
    else addGroups(groups, firsts[section] as number, firsts[section + 1] as number);
  }
  return { groups, count: seen - before, before };
}

// Neighbors become one run, whatever the direction.
function addGroups(groups: [first: number, end: number][], first: number, end: number): void {
  const last = groups.at(-1);
  if (last?.[1] === first) last[1] = end;
  else if (last?.[0] === end) last[0] = first;
  else groups.push([first, end]);
}
