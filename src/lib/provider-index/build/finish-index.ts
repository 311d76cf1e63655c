import { createTaskThreads, threadScript } from '../../../core/threads/index.ts';
import { createArrayStore, type ArrayStore } from '../arrays.ts';
import { columnNames, type ColumnName } from '../columns.ts';
import type { SharedIndexBytes } from '../types.ts';
import { buildColumn, groupValues, type Grouping } from './build-column.ts';
import { buildColumns, type ColumnInput, type ColumnsTask } from './build-columns.ts';
import { buildPoints } from './build-points.ts';
import { addPackedRows } from './build-rows.ts';
import { addSections } from './build-sections.ts';
import { fillGroups, groupStarts, orderOf } from './counting-sort.ts';
import { joinBytes } from './join-bytes.ts';
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

/** The columns that remain to be built, and those that are built. */
interface StartedIndex {
  taskFor(names: readonly ColumnName[]): ColumnsTask;
  finish(names: readonly ColumnName[]): SharedIndexBytes;
}

/** Puts the rows in order and builds every part of the index. */
export function finishIndex(collected: Collected): SharedIndexBytes {
  return addPackedRows(addSections(startIndex(collected).finish(columnNames), collected.sectionRows));
}

export async function finishInThreads(collected: Collected): Promise<SharedIndexBytes> {
  const threads = createTaskThreads<ColumnsTask, SharedIndexBytes>(
    threadScript('column-thread', import.meta.url),
  );
  try {
    const started = startIndex(collected);
    const task = started.taskFor(helperColumns);
    const helped = threads.run(task, buffersOf(task));
    // Met below; until then it is not an unhandled failure.
    helped.catch(() => {});
    const own = started.finish(columnNames.filter((name) => !helperColumns.includes(name)));
    return addPackedRows(addSections(joinBytes(own, await helped), collected.sectionRows));
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

function startIndex({
  ids,
  columns,
  points,
  pointOfRecord,
  frequentRows,
  changedAt,
}: Collected): StartedIndex {
  const store = createArrayStore();
  const take = (name: ColumnName): ColumnInput => {
    const column = columns.get(name) as ColumnInput;
    columns.delete(name);
    return column;
  };
  const npi = take('npi');
  const grouping = groupValues(npi.values);
  const recordOfRow = orderRows(orderOf(ids), npi.valueOfRecord, grouping);
  const sequence = rowsById(ids, recordOfRow);
  const taskFor = (names: readonly ColumnName[]): ColumnsTask => ({
    columns: names.map(take),
    recordOfRow,
    sequence,
    frequentRows,
  });
  return {
    taskFor,
    finish(names) {
      writeIds(ids, recordOfRow, store);
      if (changedAt !== undefined) writeChanges(changedAt, recordOfRow, store);
      buildColumn({ ...npi, grouping, recordOfRow }, store);
      buildColumns(taskFor(names.filter((name) => name !== 'npi')), store);
      for (let record = 0; record < pointOfRecord.length; record++)
        if (pointOfRecord[record] === noPoint) pointOfRecord[record] = points.count;
      buildPoints({ points, pointOfRecord, recordOfRow, sequence }, store);
      return store.finish(ids.length);
    },
  };
}

// About half of the work; the two columns of an address stay together.
const helperColumns: readonly ColumnName[] = ['street', 'phone', 'zip', 'organization', 'city', 'middleName'];

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
  let largest = 0;
  for (let record = 0; record < ids.length; record++) largest = Math.max(largest, ids[record] as number);
  const target = store.allocate('ids', largest > 0xffffffff ? 'f64' : 'u32', ids.length);
  for (let row = 0; row < recordOfRow.length; row++) target[row] = ids[recordOfRow[row] as number] as number;
}
