import { gatherCodes } from '../arrays.ts';
import type { PointMap } from '../points.ts';
import { blockRows, maskOf } from '../selector.ts';
import { createSectionCounts } from './count-sections.ts';
import type { SectionedRows } from './find-sections.ts';

/** The rows at some ranges of points: those of a circle. */
export function rowsAtPoints(ranges: Uint32Array, map: PointMap): SectionedRows {
  // Rows without coordinates have the code behind the last point.
  const mask = maskOf(ranges, map.count + 1);
  return {
    // A cell that is partly inside is counted by its rows inside, or by those outside, whichever are fewer.
    countBySection(column, sections) {
      const { starts, postings } = map;
      const sectionCount = sections.firsts.length - 1;
      const counts = createSectionCounts(column, sections);
      const rowsOf = (first: number, end: number): Uint32Array =>
        postings.subarray(starts.at(first), starts.at(end));
      for (const { cell, first, end, runs, rows } of cellsOf(ranges, map)) {
        const all = starts.at(end) - starts.at(first);
        if (rows * 2 <= all) {
          for (let at = 0; at < runs.length; at += 2)
            counts.add(rowsOf(runs[at] as number, runs[at + 1] as number));
          continue;
        }
        counts.addAll(sections.counts, cell * sectionCount, 1);
        let gap = first;
        for (let at = 0; at < runs.length; at += 2) {
          counts.remove(rowsOf(gap, runs[at] as number));
          gap = runs[at + 1] as number;
        }
        counts.remove(rowsOf(gap, end));
      }
      return counts.finish();
    },
    // Without a branch: about half of the rows stay, and a wrong prediction costs more than the rest of the
    // turn.
    keep(rows, into, kept) {
      gatherCodes(map.codes, rows, pointsOfBlock);
      let end = kept;
      for (let index = 0; index < rows.length; index++) {
        const point = pointsOfBlock[index] as number;
        into[end] = rows[index] as number;
        end += ((mask[point >>> 5] as number) >>> (point & 31)) & 1;
      }
      return end;
    },
  };
}

const pointsOfBlock = new Uint32Array(blockRows);

/** A cell that has points in the ranges. */
interface CellPart {
  readonly cell: number;
  /** Its points. */
  readonly first: number;
  readonly end: number;
  /** The ranges within the cell, and their rows. */
  readonly runs: readonly number[];
  readonly rows: number;
}

function* cellsOf(ranges: Uint32Array, map: PointMap): Generator<CellPart> {
  const { cellShift } = map;
  let cell = -1;
  let runs: number[] = [];
  for (let at = 0; at < ranges.length; at += 2) {
    const stop = ranges[at + 1] as number;
    for (let start = ranges[at] as number; start < stop;) {
      const own = start >>> cellShift;
      if (own !== cell) {
        if (runs.length > 0) yield partOf(cell, runs, map);
        cell = own;
        runs = [];
      }
      const end = Math.min(stop, (own + 1) << cellShift);
      runs.push(start, end);
      start = end;
    }
  }
  if (runs.length > 0) yield partOf(cell, runs, map);
}

function partOf(cell: number, runs: readonly number[], { starts, count, cellShift }: PointMap): CellPart {
  let rows = 0;
  for (let at = 0; at < runs.length; at += 2)
    rows += starts.at(runs[at + 1] as number) - starts.at(runs[at] as number);
  return { cell, first: cell << cellShift, end: Math.min(count, (cell + 1) << cellShift), runs, rows };
}
