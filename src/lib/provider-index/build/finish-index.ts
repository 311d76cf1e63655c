import { createTaskThreads, threadScript } from '../../../core/threads/index.ts';
import type { ArrayStore } from '../arrays.ts';
import { textFields } from '../../provider-record/index.ts';
import { columnNames, columnsOf, containsColumns, type ColumnName } from '../columns.ts';
import { addToSnapshot, beginSnapshot, closeSnapshot, endSnapshot, type BegunSnapshot } from '../snapshot.ts';
import type { SharedIndexBytes } from '../types.ts';
import { buildColumn, groupValues, type Grouping } from './build-column.ts';
import {
  buildColumns,
  openStore,
  settle,
  type BuiltParts,
  type ColumnInput,
  type ColumnsTask,
} from './build-columns.ts';
import { buildPoints } from './build-points.ts';
import { addPackedRows, idsName } from './build-rows.ts';
import { addSections } from './build-sections.ts';
import { fillGroups, groupStarts, orderOf } from './counting-sort.ts';
import { joinBytes } from './join-bytes.ts';
import { packAscending } from './pack-ascending.ts';
import type { DistinctPoints } from './point-interner.ts';

// More would be faster on larger machines, and take more memory.
const buildThreads = 2;

/** In place of a point's number: the record has no coordinates. */
export const noPoint = 0xffffffff;

/** Everything that the records left behind. */
export interface Collected {
  readonly ids: Float64Array;
  /** Consumed: the texts of a column go when it is built. */
  readonly columns: Map<ColumnName, ColumnInput>;
  readonly points: DistinctPoints;
  readonly pointOfRecord: Uint32Array;
  readonly frequentRows: number;
  readonly sectionRows: number;
  /** Undefined if all records changed with the load that the index is made of. */
  readonly changedAt: Uint32Array | undefined;
}

/** What the columns of texts are built from, apart from that of the NPIs. */
interface OrderedRows {
  readonly columns: Map<ColumnName, ColumnInput>;
  readonly rows: Omit<ColumnsTask, 'columns'>;
  readonly sectionRows: number;
}

/** Puts the rows in order and builds every part of the index. */
export function finishIndex(collect: () => Collected): SharedIndexBytes {
  const { store } = openStore(undefined);
  const { columns, rows, sectionRows } = buildRows(collect, store, undefined);
  buildColumns({ ...rows, columns: takeColumns(columns, columnNames) }, store);
  return finishBytes(store.finish(rows.recordOfRow.length), sectionRows);
}

function finishBytes(bytes: SharedIndexBytes, sectionRows: number): SharedIndexBytes {
  return packAscending(addPackedRows(addSections(bytes, sectionRows)));
}

export async function finishInThreads(collect: () => Collected): Promise<SharedIndexBytes> {
  return (await buildInThreads(collect)).bytes;
}

/** Builds an index into a snapshot: most of it is never in memory at once. */
export async function writeInThreads(collect: () => Collected, path: string): Promise<void> {
  const snapshot = beginSnapshot(path);
  try {
    const { bytes, written } = await buildInThreads(collect, snapshot);
    const { recordCount, arrays } = bytes.layout;
    const rest = arrays.map((spec, index) =>
      addToSnapshot(snapshot, spec, bytes.buffers[index] as SharedArrayBuffer),
    );
    endSnapshot(snapshot, recordCount, [...written, ...rest]);
  } finally {
    closeSnapshot(snapshot);
  }
}

async function buildInThreads(collect: () => Collected, snapshot?: BegunSnapshot): Promise<BuiltParts> {
  const threads = createTaskThreads<ColumnsTask, BuiltParts>(threadScript('column-thread', import.meta.url), {
    threads: buildThreads,
  });
  try {
    const built: Promise<BuiltParts>[] = [];
    const { store, written } = openStore(snapshot);
    const { rows, sectionRows } = buildRows(collect, store, snapshot, (ordered) => {
      for (const names of inTurns(ordered.columns)) {
        const task = { ...ordered.rows, columns: takeColumns(ordered.columns, names) };
        const one = threads.run(task, buffersOf(task));
        // Met below; until then it is not an unhandled failure.
        one.catch(() => {});
        built.push(one);
      }
    });
    const recordCount = rows.recordOfRow.length;
    settle(store, recordCount);
    const parts = await Promise.all(built);
    const bytes = parts.reduce((all, part) => joinBytes(all, part.bytes), store.finish(recordCount));
    return {
      bytes: finishBytes(bytes, sectionRows),
      written: [...written, ...parts.flatMap((part) => part.written)],
    };
  } finally {
    await threads.close();
  }
}

// The texts are transferred to the thread; no other code needs them.
function buffersOf({ columns }: ColumnsTask): ArrayBuffer[] {
  return columns.flatMap(({ values, valueOfRecord }) =>
    [values.bytes.buffer, values.offsets.buffer, valueOfRecord.buffer].map((buffer) => buffer as ArrayBuffer),
  );
}

/**
 * Puts the rows in order, and builds what is no column of texts and that of the NPIs. What it reads is
 * garbage when it returns.
 */
function buildRows(
  collect: () => Collected,
  store: ArrayStore,
  snapshot: BegunSnapshot | undefined,
  onOrder?: (ordered: OrderedRows) => void,
): OrderedRows {
  const { ids, columns, points, pointOfRecord, frequentRows, sectionRows, changedAt } = collect();
  settle(store, ids.length);
  const [npi] = takeColumns(columns, ['npi']) as [ColumnInput];
  const grouping = groupValues(npi.values);
  const recordOfRow = share(orderRows(orderOf(ids), npi.valueOfRecord, grouping));
  const sequence = share(rowsById(ids, recordOfRow));
  const ordered = { columns, sectionRows, rows: { recordOfRow, sequence, frequentRows, snapshot } };
  onOrder?.(ordered);
  writeIds(ids, recordOfRow, store);
  if (changedAt !== undefined) writeChanges(changedAt, recordOfRow, store);
  buildColumn({ ...npi, grouping, recordOfRow }, store);
  for (let record = 0; record < pointOfRecord.length; record++)
    if (pointOfRecord[record] === noPoint) pointOfRecord[record] = points.count;
  buildPoints({ points, pointOfRecord, recordOfRow, sequence }, store);
  return ordered;
}

/** For several threads. */
function share(values: Uint32Array): Uint32Array {
  const shared = new Uint32Array(new SharedArrayBuffer(values.byteLength));
  shared.set(values);
  return shared;
}

/** Those that are not taken yet. */
function takeColumns(columns: Map<ColumnName, ColumnInput>, names: readonly ColumnName[]): ColumnInput[] {
  return names.flatMap((name) => {
    const column = columns.get(name);
    columns.delete(name);
    return column ?? [];
  });
}

// A text that is found by its inside takes longer than another one of its length.
const insideWorth = 2;

/**
 * The columns in the order in which threads take them, those with most bytes of distinct texts first. The two
 * columns of an address stay together.
 */
function inTurns(columns: ReadonlyMap<ColumnName, ColumnInput>): (readonly ColumnName[])[] {
  const costOf = (names: readonly ColumnName[]): number =>
    names.reduce((sum, name) => {
      const { offsets, count } = (columns.get(name) as ColumnInput).values;
      return sum + (offsets[count] as number) * (containsColumns.has(name) ? insideWorth : 1);
    }, 0);
  const turns = textFields
    .map((field) => columnsOf(field).filter((name) => columns.has(name)))
    .filter((names) => names.length > 0);
  return turns.sort((a, b) => costOf(b) - costOf(a));
}

// Rows are in NPI order, blanks last, ties by id: the default order of results.
function orderRows(
  recordsById: Uint32Array,
  values: Uint32Array,
  { groupOf, groupCount }: Grouping,
): Uint32Array {
  const codes = new Uint32Array(values.length);
  for (let record = 0; record < codes.length; record++)
    codes[record] = groupOf[values[record] as number] as number;
  const starts = new Uint32Array(groupCount + 1);
  groupStarts(codes, groupCount, starts);
  const recordOfRow = new Uint32Array(values.length);
  fillGroups(codes, starts, recordsById, recordOfRow);
  return recordOfRow;
}

function rowsById(ids: Float64Array, recordOfRow: Uint32Array): Uint32Array {
  const idOfRow = new Float64Array(recordOfRow.length);
  for (let row = 0; row < idOfRow.length; row++) idOfRow[row] = ids[recordOfRow[row] as number] as number;
  return orderOf(idOfRow);
}

function writeChanges(changedAt: Uint32Array, recordOfRow: Uint32Array, store: ArrayStore): void {
  const target = store.allocate('changedAt', 'u32', recordOfRow.length);
  for (let row = 0; row < recordOfRow.length; row++)
    target[row] = changedAt[recordOfRow[row] as number] as number;
}

function writeIds(ids: Float64Array, recordOfRow: Uint32Array, store: ArrayStore): void {
  const target = store.allocate(idsName, 'f64', ids.length);
  for (let row = 0; row < recordOfRow.length; row++) target[row] = ids[recordOfRow[row] as number] as number;
}
