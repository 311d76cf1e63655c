/**
 * Persons, organizations and places among the records: which rows are the same one, and one row for each.
 * Used by `lib/provider-index`; others by its `index.ts`.
 * Begin with `entity-hash.ts`, which defines the same one, then this file.
 */
import { createArrayReader } from '../arrays.ts';
import { countOnes, setBit, wordCount } from '../bits.ts';
import { fillGroups, groupStarts } from '../build/counting-sort.ts';
import { openPackedRows } from '../packed-rows.ts';
import { openTextColumn, type TextColumn } from '../text-column.ts';
import type {
  EntityArrays,
  EntityHash,
  EntityKind,
  EntitySeed,
  SharedEntities,
  SharedIndexBytes,
} from '../types.ts';
import {
  combine,
  countedBytes,
  entityFields,
  hashBytes,
  requiredFields,
  type MutableHash,
} from './entity-hash.ts';

type EntityField = (typeof entityFields)[EntityKind][number];

interface HashedColumn {
  readonly column: TextColumn;
  /** By group. */
  readonly low: Uint32Array;
  readonly high: Uint32Array;
}

/**
 * Finds the organizations and places that the records of an index are about. Takes about half a second per
 * million records.
 */
export function buildEntities(
  bytes: SharedIndexBytes,
  seed: EntitySeed,
  version: number,
  ownChange: number,
): SharedEntities {
  const arrays = createArrayReader(bytes);
  const changedAt = arrays.find('changedAt', 'u32');
  const changeOf = (row: number): number => changedAt?.[row] || ownChange;
  const packed = openPackedRows(arrays);
  const columns = new Map(
    entityFields.organization.map((field) => [
      field,
      hashColumn(openTextColumn(field, arrays, packed), field, seed),
    ]),
  );
  const rowCount = bytes.layout.recordCount;
  const [npi, lastName] = (['npi', 'lastName'] as const).map((field) =>
    openTextColumn(field, arrays, packed),
  ) as [TextColumn, TextColumn];
  const isOwned = (row: number): boolean =>
    npi.codes[row] !== npi.blankGroup && lastName.codes[row] === lastName.blankGroup;
  return {
    version,
    seed,
    organization: buildKind('organization', columns, rowCount, seed, { changeOf, isOwned }),
    place: buildKind('place', columns, rowCount, seed, { changeOf, isOwned: () => false }),
  };
}

function hashColumn(column: TextColumn, field: EntityField, seed: EntitySeed): HashedColumn {
  const [low, high] = [new Uint32Array(column.groupCount), new Uint32Array(column.groupCount)];
  const hash: MutableHash = { low: 0, high: 0 };
  for (let group = 0; group < column.groupCount; group++) {
    hashBytes(column.scratch, countedBytes(field, column.loadFolded(group)), seed, hash);
    low[group] = hash.low;
    high[group] = hash.high;
  }
  return { column, low, high };
}

interface RowFacts {
  readonly changeOf: (row: number) => number;
  /** True for a row whose NPI is that of its organization. */
  readonly isOwned: (row: number) => boolean;
}

function buildKind(
  kind: EntityKind,
  columns: ReadonlyMap<EntityField, HashedColumn>,
  rowCount: number,
  seed: EntitySeed,
  about: RowFacts,
): EntityArrays {
  const hashed = entityFields[kind].map((field) => columns.get(field) as HashedColumn);
  const required = requiredFields[kind].map((field) => (columns.get(field) as HashedColumn).column);
  const [low, high] = [new Uint32Array(rowCount), new Uint32Array(rowCount)];
  const hash: MutableHash = { low: 0, high: 0 };
  let [rows, count] = [new Uint32Array(rowCount), 0];
  for (let row = 0; row < rowCount; row++) {
    if (!hasAny(required, row)) continue;
    hash.low = seed.low;
    hash.high = seed.high;
    for (const field of hashed) {
      const group = field.column.codes[row] as number;
      combine(field.low[group] as number, field.high[group] as number, hash);
    }
    low[row] = hash.low;
    high[row] = hash.high;
    rows[count++] = row;
  }
  rows = sortByHash(rows.subarray(0, count), low, high);
  return takeFirstRows(rows, low, high, about);
}

function hasAny(columns: readonly TextColumn[], row: number): boolean {
  for (const { codes, blankGroup } of columns) if (codes[row] !== blankGroup) return true;
  return false;
}

// Least significant digit first, 16 bits at a time; rows of one hash stay in their order.
function sortByHash(
  rows: Uint32Array<ArrayBuffer>,
  low: Uint32Array,
  high: Uint32Array,
): Uint32Array<ArrayBuffer> {
  const starts = new Uint32Array(0x10001);
  const digits = new Uint16Array(rows.length);
  const sequence = Uint32Array.from(rows.keys());
  let current = rows;
  for (const [half, shift] of [
    [low, 0],
    [low, 16],
    [high, 0],
    [high, 16],
  ] as const) {
    for (let at = 0; at < current.length; at++)
      digits[at] = ((half[current[at] as number] as number) >>> shift) & 0xffff;
    groupStarts(digits, 0x10000, starts);
    const places = new Uint32Array(current.length);
    fillGroups(digits, starts, sequence, places);
    const next = new Uint32Array(current.length);
    for (let at = 0; at < next.length; at++) next[at] = current[places[at] as number] as number;
    current = next;
  }
  return current;
}

function takeFirstRows(
  rows: Uint32Array,
  low: Uint32Array,
  high: Uint32Array,
  { changeOf, isOwned }: RowFacts,
): EntityArrays {
  const isFirst = (at: number): boolean => {
    const [row, before] = [rows[at] as number, rows[at - 1] ?? -1];
    return before < 0 || low[row] !== low[before] || high[row] !== high[before];
  };
  let [count, ownedCount] = [0, 0];
  for (let at = 0; at < rows.length; at++) {
    if (isFirst(at)) count++;
    if (isOwned(rows[at] as number)) ownedCount++;
  }
  const shared = (length: number): Uint32Array => new Uint32Array(new SharedArrayBuffer(length * 4));
  const arrays = {
    rows: shared(count),
    low: shared(count),
    high: shared(count),
    bits: shared(wordCount(low.length)),
    changed: shared(count),
    ranks: shared(wordCount(low.length)),
    owned: shared(ownedCount),
    ownedStarts: shared(count + 1),
  };
  let next = 0;
  for (let at = 0; at < rows.length; at++) {
    if (!isFirst(at)) continue;
    const row = rows[at] as number;
    arrays.rows[next] = row;
    arrays.low[next] = low[row] as number;
    arrays.high[next++] = high[row] as number;
    setBit(arrays.bits, row);
  }
  sumRanks(arrays.bits, arrays.ranks);
  const { changed, owned, ownedStarts } = arrays;
  const [ranks, own] = [new Uint32Array(ownedCount), new Uint32Array(ownedCount)];
  let [rank, ownedNext] = [0, 0];
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] as number;
    if (isFirst(at)) rank = rankOf(arrays, row);
    changed[rank] = Math.max(changed[rank] as number, changeOf(row));
    if (!isOwned(row)) continue;
    ranks[ownedNext] = rank;
    own[ownedNext++] = row;
  }
  groupStarts(ranks, count, ownedStarts);
  const cursors = ownedStarts.slice();
  for (let at = 0; at < ownedCount; at++) {
    const to = cursors[ranks[at] as number] as number;
    owned[to] = own[at] as number;
    cursors[ranks[at] as number] = to + 1;
  }
  return arrays;
}

function sumRanks(bits: Uint32Array, ranks: Uint32Array): void {
  let sum = 0;
  for (let word = 0; word < bits.length; word++) {
    ranks[word] = sum;
    sum += countOnes(bits[word] as number);
  }
}

/** Place of a first row among those of all entities. */
export function rankOf({ bits, ranks }: Pick<EntityArrays, 'bits' | 'ranks'>, row: number): number {
  const word = row >>> 5;
  return (ranks[word] as number) + countOnes((bits[word] as number) & ((1 << (row & 31)) - 1));
}

/** Rows with own NPIs of the entity of a first row, as the index was built. */
export function ownedRows(arrays: EntityArrays, row: number): Uint32Array {
  const rank = rankOf(arrays, row);
  return arrays.owned.subarray(arrays.ownedStarts[rank], arrays.ownedStarts[rank + 1]);
}

/** The first row of an entity as the index was built; undefined if it has none. */
export function firstRowOf(arrays: EntityArrays, hash: EntityHash): number | undefined {
  return arrays.rows[placeOfHash(arrays, hash)];
}

/** True for a first row. */
export function isFirstRow({ bits }: EntityArrays, row: number): boolean {
  return ((bits[row >>> 5] ?? 0) & (1 << (row & 31))) !== 0;
}

/** The place of an entity in the arrays; -1 if there is none with that hash. */
export function placeOfHash({ low, high }: EntityArrays, wanted: EntityHash): number {
  let [first, end] = [0, low.length];
  while (first < end) {
    const middle = (first + end) >>> 1;
    const order = (high[middle] as number) - wanted.high || (low[middle] as number) - wanted.low;
    if (order === 0) return middle;
    if (order < 0) first = middle + 1;
    else end = middle;
  }
  return -1;
}
