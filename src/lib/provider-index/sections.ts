/**
 * Rows of a column's groups, counted by cell of the map and by groups of each other column when the index is
 * built: a page of the rows in a circle, or in some groups, in the order of that column, is found without
 * looking at each of these rows.
 */
import type { ArrayReader } from './arrays.ts';
import { columnNames } from './columns.ts';

/**
 * Runs of groups with about the same number of rows each. A group of so many rows is alone, and so is the
 * blank one, the last.
 */
export interface Sections {
  /** First group of each section, and one more. */
  readonly firsts: Uint32Array;
  /** For each cell the number of its rows in each section. */
  readonly counts: Uint32Array;
  /** The same for the sections of the other columns, by their names. */
  readonly across: ReadonlyMap<string, SectionPairs>;
}

/** Rows that are in a section of one column and in a section of another one. */
export interface SectionPairs {
  readonly counts: Uint32Array;
  /** From a count to that of the next section of this column, and of the other one. */
  readonly ownStep: number;
  readonly otherStep: number;
}

export function firstsName(name: string): string {
  return `${name}.sections.firsts`;
}

/**
 * Kept once for two columns: for each section of the one that comes first in `columnNames` those of the other
 * one.
 */
export function pairsName(name: string, later: string): string {
  return `${name}.sections.${later}`;
}

export function openSections(name: string, arrays: ArrayReader): Sections | undefined {
  const firsts = arrays.find(firstsName(name), 'u32');
  if (firsts === undefined) return undefined;
  const across = new Map<string, SectionPairs>();
  for (const other of columnNames) {
    const asFirst = arrays.find(pairsName(name, other), 'u32');
    if (asFirst !== undefined)
      across.set(other, { counts: asFirst, ownStep: asFirst.length / (firsts.length - 1), otherStep: 1 });
    const asLater = arrays.find(pairsName(other, name), 'u32');
    if (asLater !== undefined)
      across.set(other, { counts: asLater, ownStep: 1, otherStep: firsts.length - 1 });
  }
  return { firsts, counts: arrays.get(`${name}.sections.counts`, 'u32'), across };
}

// Blocks of groups, few enough for the processor's cache; nearly all are in one section.
const maxBlocks = 4096;

/** From a group to its section. */
export function sectionFinder({ firsts }: Pick<Sections, 'firsts'>): (group: number) => number {
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
