import type { Sections } from '../sections.ts';
import { keepInRange } from '../selector.ts';
import type { TextColumn } from '../text-column.ts';
import { createSectionCounts } from './count-sections.ts';
import type { SectionedRows } from './find-sections.ts';

/** The rows of the groups [first, end) of a column that has sections. */
export function rowsOfGroups(own: TextColumn, first: number, end: number): SectionedRows {
  return {
    countBySection: (column, sections) =>
      column === own
        ? countOwn(own, sections, first, end)
        : countAcross({ own, first, end }, column, sections),
    keep: (rows, into, kept) => keepInRange(own.codes, first, end, rows, into, kept),
  };
}

function countOwn({ starts }: TextColumn, { firsts }: Sections, first: number, end: number): Int32Array {
  return Int32Array.from({ length: firsts.length - 1 }, (_, section) => {
    const from = Math.max(first, firsts[section] as number);
    const to = Math.min(end, firsts[section + 1] as number);
    return from < to ? starts.at(to) - starts.at(from) : 0;
  });
}

interface Groups {
  readonly own: TextColumn;
  readonly first: number;
  readonly end: number;
}

// A section that is partly among the groups is counted by its rows among them, or by the others, whichever
// are fewer.
function countAcross({ own, first, end }: Groups, column: TextColumn, sections: Sections): Int32Array {
  const counts = createSectionCounts(column, sections);
  const pairs = sections.across.get(own.name);
  const { firsts } = own.sections ?? {};
  if (pairs === undefined || firsts === undefined)
    throw new TypeError(`Sections of ${own.name} are missing.`);
  const postings = own.postings as Uint32Array;
  const startOf = (group: number): number => own.starts.at(group);
  for (let section = 0; section + 1 < firsts.length; section++) {
    const [low, high] = [firsts[section] as number, firsts[section + 1] as number];
    const [from, to] = [Math.max(first, low), Math.min(end, high)];
    if (from >= to) continue;
    if ((startOf(to) - startOf(from)) * 2 <= startOf(high) - startOf(low)) {
      counts.add(postings.subarray(startOf(from), startOf(to)));
      continue;
    }
    counts.addAll(pairs.counts, section * pairs.otherStep, pairs.ownStep);
    counts.remove(postings.subarray(startOf(low), startOf(from)));
    counts.remove(postings.subarray(startOf(to), startOf(high)));
  }
  return counts.finish();
}
