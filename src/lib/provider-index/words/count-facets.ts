import { countOnes } from '../bits.ts';
import type { CodeArray } from '../arrays.ts';
import type { ColumnName } from '../columns.ts';
import type { WordContext } from './context.ts';
import type { Matches } from '../intersect.ts';
import type { TextColumn } from '../text-column.ts';

/** Numbers of records by what they have in common. */
export interface FacetCounts {
  /** By state as stored, folded; blank for records without one. */
  readonly states: ReadonlyMap<string, number>;
  /** By specialty as stored, folded. */
  readonly specialties: ReadonlyMap<string, number>;
  readonly trusted: number;
}

/** Distinct specialties that are counted; those of the most records come first. */
const maxSpecialties = 2000;

export function countFacets(
  matches: Matches,
  trusted: Uint32Array | undefined,
  context: WordContext,
): FacetCounts {
  return {
    states: countTexts('state', matches, context),
    specialties: countTexts('specialty', matches, context),
    trusted: trusted === undefined ? 0 : countCommon(matches, trusted),
  };
}

function countTexts(
  name: ColumnName,
  { count, rows, bits }: Matches,
  { columns }: WordContext,
): ReadonlyMap<string, number> {
  const column = columns.get(name) as TextColumn;
  if (count === 0) return new Map();
  // Few rows of a column with very many texts.
  if (rows !== undefined && column.groupCount > rows.length * 16) {
    const counts = new Map<number, number>();
    for (const row of rows) {
      const code = column.codes[row] as number;
      counts.set(code, (counts.get(code) ?? 0) + 1);
    }
    return toTexts([...counts], column);
  }
  const counts = new Uint32Array(column.groupCount);
  if (rows !== undefined) countRows(column.codes, rows, counts);
  else if (bits !== undefined) countSet(column.codes, bits, counts);
  const found: [number, number][] = [];
  for (let group = 0; group < counts.length; group++)
    if ((counts[group] as number) > 0) found.push([group, counts[group] as number]);
  return toTexts(found, column);
}

function toTexts(
  counts: readonly (readonly [number, number])[],
  column: TextColumn,
): ReadonlyMap<string, number> {
  const most = counts.toSorted(([, a], [, b]) => b - a).slice(0, maxSpecialties);
  return new Map(
    most.map(([group, count]) => {
      const length = column.loadFolded(group);
      return [Buffer.from(column.scratch.subarray(0, length)).toString(), count];
    }),
  );
}

function countRows(codes: CodeArray, rows: Uint32Array, counts: Uint32Array): void {
  for (let at = 0; at < rows.length; at++) {
    const code = codes[rows[at] as number] as number;
    counts[code] = (counts[code] as number) + 1;
  }
}

function countSet(codes: CodeArray, bits: Uint32Array, counts: Uint32Array): void {
  for (let word = 0; word < bits.length; word++) {
    for (let left = bits[word] as number; left !== 0; left &= left - 1) {
      const code = codes[(word << 5) + (31 - Math.clz32(left & -left))] as number;
      counts[code] = (counts[code] as number) + 1;
    }
  }
}

function countCommon({ rows, bits }: Matches, other: Uint32Array): number {
  let count = 0;
  if (rows !== undefined)
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at] as number;
      count += ((other[row >>> 5] as number) >>> (row & 31)) & 1;
    }
  else if (bits !== undefined)
    for (let word = 0; word < bits.length; word++)
      count += countOnes((bits[word] as number) & (other[word] as number));
  return count;
}
