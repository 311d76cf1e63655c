import { gatherCodes } from '../arrays.ts';
import type { PointMap } from '../points.ts';
import { blockRows } from '../selector.ts';
import { createSectionCounts } from './count-sections.ts';
import type { SectionedRows } from './find-sections.ts';

/** The rows at some ranges of points: those of a circle. */
export function rowsAtPoints(ranges: Uint32Array, map: PointMap): SectionedRows {
  const members = membersOf(ranges, map);
  return {
    // A cell that is partly inside is counted by its points inside, or by those outside, whichever have fewer
    // rows.
    countBySection(column, sections) {
      const { cells, starts } = map;
      const sectionCount = sections.firsts.length - 1;
      const counts = createSectionCounts(column, sections);
      for (let cell = 0; cell + 1 < cells.length; cell++) {
        const [first, end] = [cells[cell] as number, cells[cell + 1] as number];
        const inside = rowsInside(map, members, first, end);
        if (inside === 0) continue;
        const all = (starts[end] as number) - (starts[first] as number);
        const isMostlyInside = inside * 2 > all;
        if (isMostlyInside) counts.addAll(sections.counts, cell * sectionCount, 1);
        if (inside === all) continue;
        for (let point = first; point < end; point++) {
          if ((members[point] === 1) === isMostlyInside) continue;
          const rows = map.postings.subarray(starts[point], starts[point + 1]);
          if (isMostlyInside) counts.remove(rows);
          else counts.add(rows);
        }
      }
      return counts.finish();
    },
    // Without a branch: about half of the rows stay, and a wrong prediction costs more than the rest of the
    // turn.
    keep(rows, into, kept) {
      gatherCodes(map.codes, rows, pointsOfBlock);
      let end = kept;
      for (let index = 0; index < rows.length; index++) {
        into[end] = rows[index] as number;
        end += members[pointsOfBlock[index] as number] as number;
      }
      return end;
    },
  };
}

const pointsOfBlock = new Uint32Array(blockRows);

/** For each point 1 if it is in one of the ranges, else 0. */
function membersOf(ranges: Uint32Array, { count }: PointMap): Uint8Array {
  // Rows without coordinates have the code behind the last point.
  const members = new Uint8Array(count + 1);
  for (let at = 0; at < ranges.length; at += 2) members.fill(1, ranges[at], ranges[at + 1]);
  return members;
}

function rowsInside({ starts }: PointMap, members: Uint8Array, first: number, end: number): number {
  let rows = 0;
  for (let point = first; point < end; point++)
    rows += (members[point] as number) * ((starts[point + 1] as number) - (starts[point] as number));
  return rows;
}
