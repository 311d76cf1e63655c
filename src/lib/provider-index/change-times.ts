import { fillAll, setBit, wordCount } from './bits.ts';
import type { ColumnName } from './columns.ts';
import { rankOf } from './distinct/build-entities.ts';
import type { Selector } from './selector.ts';
import type { TextColumn } from './text-column.ts';
import type { Distinct, EntityArrays, IndexTimes, TimeRange } from './types.ts';

/** Times of the last changes of an index's records. */
export interface ChangeContext {
  /** By row, 0 for the load that the index is made of; undefined if that holds for all. */
  readonly changedAt: Uint32Array | undefined;
  readonly times: IndexTimes;
}

export interface RowContext extends ChangeContext {
  readonly rowCount: number;
  readonly columns: ReadonlyMap<ColumnName, TextColumn>;
}

/** The effective time: never before the earliest one. */
export function timeOf(stored: number, { ownChange, earliestChange }: IndexTimes): number {
  return Math.max(stored === 0 ? ownChange : stored, earliestChange);
}

/** Time of the last change of a row, or of the person or entity that it represents. */
export function lastChangeOf(row: number, distinct: Distinct | undefined, context: RowContext): number {
  const { changedAt, times, columns } = context;
  if (distinct === undefined) return timeOf(changedAt?.[row] ?? 0, times);
  if (distinct.kind !== 'person') {
    const arrays = distinct.entities[distinct.kind];
    return timeOf(arrays.changed[rankOf(arrays, row)] ?? 0, times);
  }
  const { codes, starts, blankGroup } = columns.get('npi') as TextColumn;
  const group = codes[row] as number;
  if (changedAt === undefined || group === blankGroup) return timeOf(changedAt?.[row] ?? 0, times);
  return lastNamed(starts.at(group), starts.at(group + 1), context);
}

/** The last change of the rows that have a last name. */
function lastNamed(start: number, end: number, { changedAt, times, columns }: RowContext): number {
  const { codes, blankGroup } = columns.get('lastName') as TextColumn;
  let latest = 0;
  for (let row = start; row < end; row++)
    if (codes[row] !== blankGroup) latest = Math.max(latest, timeOf(changedAt?.[row] ?? 0, times));
  return latest;
}

export function isIn(time: number, ranges: readonly TimeRange[]): boolean {
  for (let at = 0; at < ranges.length; at++) {
    const [from, end] = ranges[at] as TimeRange;
    if (time >= from && time < end) return true;
  }
  return false;
}

/** Tests each distinct time once: there are about as many as loads. */
function createTest(ranges: readonly TimeRange[], times: IndexTimes): (stored: number) => boolean {
  const known = new Map<number, boolean>();
  let [last, isLastIn] = [-1, false];
  return (stored) => {
    if (stored === last) return isLastIn;
    let found = known.get(stored);
    if (found === undefined) {
      found = isIn(timeOf(stored, times), ranges);
      known.set(stored, found);
    }
    last = stored;
    isLastIn = found;
    return found;
  };
}

function everyRow(rowCount: number, isWanted: boolean): Selector {
  if (!isWanted) return { kind: 'rows', rows: new Uint32Array(0), count: 0 };
  const bits = new Uint32Array(wordCount(rowCount));
  fillAll(bits, rowCount);
  return { kind: 'bits', bits, count: rowCount };
}

/** Rows whose own record changed in one of the ranges. */
export function selectChangedRows(
  ranges: readonly TimeRange[],
  { changedAt, times, rowCount }: RowContext,
): Selector {
  const test = createTest(ranges, times);
  if (changedAt === undefined) return everyRow(rowCount, test(0));
  const bits = new Uint32Array(wordCount(rowCount));
  let count = 0;
  for (let row = 0; row < rowCount; row++) {
    if (!test(changedAt[row] as number)) continue;
    setBit(bits, row);
    count++;
  }
  return { kind: 'bits', bits, count };
}

/** All rows of the persons whose latest change is in one of the ranges. */
export function selectChangedPersons(ranges: readonly TimeRange[], context: RowContext): Selector {
  const { changedAt, times, rowCount, columns } = context;
  const test = createTest(ranges, times);
  if (changedAt === undefined) return everyRow(rowCount, test(0));
  const { starts, blankGroup } = columns.get('npi') as TextColumn;
  const bits = new Uint32Array(wordCount(rowCount));
  let count = 0;
  const take = (row: number): void => {
    setBit(bits, row);
    count++;
  };
  // Groups are consecutive, the blank one last.
  for (let group = 0; group < blankGroup; group++) {
    const [start, end] = [starts.at(group), starts.at(group + 1)];
    if (end === start + 1) {
      if (test(changedAt[start] as number)) take(start);
    } else if (isIn(lastNamed(start, end, context), ranges))
      for (let row = start; row < end; row++) take(row);
  }
  for (let row = starts.at(blankGroup); row < rowCount; row++) if (test(changedAt[row] as number)) take(row);
  return { kind: 'bits', bits, count };
}

/** First rows of the entities whose latest change is in one of the ranges. */
export function selectChangedEntities(
  { bits, changed }: EntityArrays,
  ranges: readonly TimeRange[],
  times: IndexTimes,
): Selector & { readonly kind: 'bits' } {
  const test = createTest(ranges, times);
  const found = new Uint32Array(bits.length);
  let count = 0;
  let place = 0;
  for (let word = 0; word < bits.length; word++) {
    let kept = 0;
    for (let left = bits[word] as number; left !== 0; left &= left - 1) {
      if (!test(changed[place++] as number)) continue;
      kept |= left & -left;
      count++;
    }
    found[word] = kept;
  }
  return { kind: 'bits', bits: found, count };
}
