import { gatherCodes } from '../arrays.ts';
import { sectionFinder, type Sections } from '../sections.ts';
import { blockRows } from '../selector.ts';
import type { TextColumn } from '../text-column.ts';

/**
 * Counts in each section of a column. They are put together from counts of many rows, which the index has;
 * the rows by which those differ from the wanted ones are counted one by one.
 */
export interface SectionCounts {
  /** Adds counts: that of the first section is at `start`, and the next one always `step` further. */
  addAll(counts: Uint32Array, start: number, step: number): void;
  add(rows: Uint32Array): void;
  remove(rows: Uint32Array): void;
  finish(): Int32Array;
}

export function createSectionCounts(column: TextColumn, sections: Sections): SectionCounts {
  const sectionCount = sections.firsts.length - 1;
  const found = new Int32Array(sectionCount);
  const sectionOf = sectionFinder(sections);
  const count = (rows: Uint32Array, step: number): void => {
    gatherCodes(column.codes, rows, groupsOfBlock);
    for (let index = 0; index < rows.length; index++) {
      const section = sectionOf(groupsOfBlock[index] as number);
      found[section] = (found[section] as number) + step;
    }
  };
  const added = createBlock((rows) => count(rows, 1));
  const removed = createBlock((rows) => count(rows, -1));
  return {
    addAll(counts, start, step) {
      for (let section = 0, at = start; section < sectionCount; section++, at += step)
        found[section] = (found[section] as number) + (counts[at] as number);
    },
    add: (rows) => added.push(rows),
    remove: (rows) => removed.push(rows),
    finish() {
      added.end();
      removed.end();
      return found;
    },
  };
}

const groupsOfBlock = new Uint32Array(blockRows);

/** Hands on rows in blocks, so that few rows at a time do not cost a call each. */
function createBlock(take: (rows: Uint32Array) => void): { push(rows: Uint32Array): void; end(): void } {
  const block = new Uint32Array(blockRows);
  let filled = 0;
  const end = (): void => {
    take(block.subarray(0, filled));
    filled = 0;
  };
  return {
    push(rows) {
      let start = 0;
      while (rows.length - start >= blockRows - filled) {
        const next = start + blockRows - filled;
        block.set(rows.subarray(start, next), filled);
        filled = blockRows;
        end();
        start = next;
      }
      block.set(start === 0 ? rows : rows.subarray(start), filled);
      filled += rows.length - start;
    },
    end,
  };
}
