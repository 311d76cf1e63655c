import { createTaskThreads, threadScript } from '../../../core/threads/index.ts';
import type { ArrayStore } from '../arrays.ts';
import { columnNames, containsColumns, type ColumnName } from '../columns.ts';
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
  const threads = createTaskThreads<ColumnsTask, BuiltParts>(threadScript('column-thread', import.meta.url));
  try {
    const { promise: helped, resolve, reject } = Promise.withResolvers<BuiltParts>();
    // Met below; until then it is not an unhandled failure.
    helped.catch(() => {});
    const { store, written } = openStore(snapshot);
    const { columns, rows, sectionRows } = buildRows(collect, store, snapshot, (ordered) => {
      const task = {
        ...ordered.rows,
        columns: takeColumns(
          ordered.columns,
          columnsForHelper(ordered.columns, ordered.rows.recordOfRow.length),
        ),
      };
      threads.run(task, buffersOf(task)).then(resolve, reject);
    });
    settle(store, rows.recordOfRow.length);
    buildColumns({ ...rows, columns: takeColumns(columns, columnNames) }, store);
    const other = await helped;
    const own = store.finish(rows.recordOfRow.length);
    const bytes = finishBytes(joinBytes(own, other.bytes), sectionRows);
    return { bytes, written: [...written, ...other.written] };
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
  const recordOfRow = orderRows(orderOf(ids), npi.valueOfRecord, grouping);
  const sequence = rowsById(ids, recordOfRow);
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

/** Those that are not taken yet. */
function takeColumns(columns: Map<ColumnName, ColumnInput>, names: readonly ColumnName[]): ColumnInput[] {
  return names.flatMap((name) => {
    const column = columns.get(name);
    columns.delete(name);
    return column ?? [];
  });
}

// A text that is found by its inside takes three times as long as another one of its length, and the points
// as long as so many bytes of a text for each record.
const insideWorth = 3;
const pointsWorth = 10;

/**
 * About half of the work, by the bytes of the distinct texts: shapes of data differ in which column has most.
 * The two columns of an address stay together in the thread that also builds the points.
 */
function columnsForHelper(columns: ReadonlyMap<ColumnName, ColumnInput>, rowCount: number): ColumnName[] {
  const costOf = (name: ColumnName): number => {
    const { offsets, count } = (columns.get(name) as ColumnInput).values;
    return (offsets[count] as number) * (containsColumns.has(name) ? insideWorth : 1);
  };
  const others = [...columns.keys()].filter((name) => name !== 'addressDomain' && name !== 'addressLocal');
  others.sort((a, b) => costOf(b) - costOf(a));
  let own = rowCount * pointsWorth + costOf('addressLocal');
  let helped = 0;
  return others.filter((name) => {
    const isHelped = helped <= own;
    if (isHelped) helped += costOf(name);
    else own += costOf(name);
    return isHelped;
  });
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
