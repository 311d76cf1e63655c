import { countOnes, invert } from '../bits.ts';
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
  const [state, specialty] = ['state', 'specialty'].map((name) => context.columns.get(name as ColumnName));
  if (state === undefined || specialty === undefined) throw new TypeError('The index has no facet columns.');
  const [states, specialties] = countGroups(matches, state, specialty, context.rowCount);
  return {
    states: toTexts(states, state),
    specialties: toTexts(specialties, specialty),
    trusted: trusted === undefined ? 0 : countCommon(matches, trusted),
  };
}

type GroupCounts = readonly (readonly [group: number, count: number])[];

function countGroups(
  { count, rows, bits }: Matches,
  one: TextColumn,
  other: TextColumn,
  rowCount: number,
): readonly [GroupCounts, GroupCounts] {
  if (count === 0) return [[], []];
  if (rows !== undefined) return [countRows(rows, one), countRows(rows, other)];
  // Of a set and the rows that are not in it the smaller one is counted.
  if (bits === undefined || count * 2 > rowCount) {
    const counts = [sizesOf(one), sizesOf(other)] as const;
    if (bits !== undefined && count < rowCount) {
      const missing = bits.slice();
      invert(missing, rowCount);
      countSet(missing, one.codes, other.codes, ...counts, -1);
    }
    return [listCounts(counts[0]), listCounts(counts[1])];
  }
  const counts = [new Uint32Array(one.groupCount), new Uint32Array(other.groupCount)] as const;
  countSet(bits, one.codes, other.codes, ...counts, 1);
  return [listCounts(counts[0]), listCounts(counts[1])];
}

function listCounts(counts: Uint32Array): GroupCounts {
  const found: (readonly [number, number])[] = [];
  for (let group = 0; group < counts.length; group++)
    if (counts[group] !== 0) found.push([group, counts[group] as number]);
  return found;
}

// A list is counted in an array if that is about as short.
const mostCounted = 1 << 14;

function countRows(rows: Uint32Array, { codes, groupCount }: TextColumn): GroupCounts {
  if (groupCount <= mostCounted) {
    const counts = new Uint32Array(groupCount);
    for (let at = 0; at < rows.length; at++) {
      const code = codes[rows[at] as number] as number;
      counts[code] = (counts[code] as number) + 1;
    }
    return listCounts(counts);
  }
  const counts = new Map<number, number>();
  for (const row of rows) {
    const code = codes[row] as number;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return [...counts];
}

function toTexts(counts: GroupCounts, column: TextColumn): ReadonlyMap<string, number> {
  const most = counts.toSorted(([, a], [, b]) => b - a).slice(0, maxSpecialties);
  return new Map(
    most.map(([group, count]) => {
      const length = column.loadFolded(group);
      return [Buffer.from(column.scratch.subarray(0, length)).toString(), count];
    }),
  );
}

function sizesOf({ starts, groupCount }: TextColumn): Uint32Array {
  return Uint32Array.from({ length: groupCount }, (_, group) => starts.at(group + 1) - starts.at(group));
}

// Both columns in one pass: finding the rows of the set is half of the work.
function countSet(
  bits: Uint32Array,
  codes: CodeArray,
  otherCodes: CodeArray,
  counts: Uint32Array,
  otherCounts: Uint32Array,
  step: 1 | -1,
): void {
  for (let word = 0; word < bits.length; word++) {
    for (let left = bits[word] as number; left !== 0; left &= left - 1) {
      const row = (word << 5) + (31 - Math.clz32(left & -left));
      const code = codes[row] as number;
      const other = otherCodes[row] as number;
      counts[code] = (counts[code] as number) + step;
      otherCounts[other] = (otherCounts[other] as number) + step;
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
