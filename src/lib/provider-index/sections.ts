/**
 * Rows of a column's groups, counted by cell of the map when the index is built: a page of the rows in a circle, in the order of
 * that column, is found without looking at each of these rows.
 */
import type { ArrayReader } from './arrays.ts';

/** Runs of groups with about the same number of rows each. A group of so many rows is alone, and so is the blank one, the last. */
export interface Sections {
  /** First group of each section, and one more. */
  readonly firsts: Uint32Array;
  /** For each cell the number of its rows in each section. */
  readonly counts: Uint32Array;
}

export function openSections(name: string, arrays: ArrayReader): Sections | undefined {
  const firsts = arrays.find(`${name}.sections.firsts`, 'u32');
  return firsts && { firsts, counts: arrays.get(`${name}.sections.counts`, 'u32') };
}

// Blocks of groups, few enough for the processor's cache; nearly all are in one section.
const maxBlocks = 4096;

/** From a group to its section. */
export function sectionFinder({ firsts }: Sections): (group: number) => number {
  const groupCount = firsts[firsts.length - 1] as number;
  const shift = Math.max(0, 32 - Math.clz32(Math.floor((groupCount - 1) / maxBlocks)));
  const sectionOfBlock = new Uint32Array((groupCount >>> shift) + 1);
  for (let block = 0, section = 0; block < sectionOfBlock.length; block++) {
    while (section + 2 < firsts.length && (firsts[section + 1] as number) <= block << shift) section++;
    sectionOfBlock[block] = section;
  }
  return (group) => {
    let section = sectionOfBlock[group >>> shift] as number;
    while ((firsts[section + 1] as number) <= group) section++;
    return section;
  };
}
