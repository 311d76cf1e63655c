import { collectGarbage } from '../../../core/index.ts';
import { createArrayStore, type ArrayStore } from '../arrays.ts';
import { containsColumns, type ColumnName } from '../columns.ts';
import { addToSnapshot, type BegunSnapshot, type SnapshotPart } from '../snapshot.ts';
import type { SharedIndexBytes } from '../types.ts';
import { buildAlternateOrder } from './build-alternate-order.ts';
import { buildColumn, type BuiltColumn, type ColumnSource } from './build-column.ts';
import { buildFrequentTexts } from './build-frequent-texts.ts';
import { isPackedFrom } from './build-rows.ts';
import { buildSpellings } from './build-spellings.ts';
import { buildTrigrams } from './build-trigrams.ts';
import { buildWords } from './build-words.ts';
import { packArray } from './pack-ascending.ts';

/** The texts of a column and which record has which. */
export interface ColumnInput extends Pick<ColumnSource, 'values' | 'valueOfRecord'> {
  readonly name: ColumnName;
}

/** Some columns to build; plain data, so that another thread can do it. */
export interface ColumnsTask {
  /** Consumed: the texts of a column go when it is built. */
  readonly columns: ColumnInput[];
  readonly recordOfRow: Uint32Array;
  /** Rows by id. */
  readonly sequence: Uint32Array;
  readonly frequentRows: number;
  /** Takes what is finished, if it is written while it is built. */
  readonly snapshot: BegunSnapshot | undefined;
}

/** Arrays of an index, and those that are in the snapshot already. */
export interface BuiltParts {
  readonly bytes: SharedIndexBytes;
  readonly written: readonly SnapshotPart[];
}

/** A store that writes what is settled into the snapshot, if there is one. */
export function openStore(snapshot: BegunSnapshot | undefined) {
  const written: SnapshotPart[] = [];
  const store = createArrayStore(
    snapshot &&
      ((finished, array) => {
        for (const { spec, buffer } of packArray(finished, array))
          written.push(addToSnapshot(snapshot, spec, buffer));
      }),
  );
  return { store, written };
}

// Fewer make no garbage worth a collection.
const manyRows = 200_000;

/**
 * Writes what nothing reads any more, and gives its memory back: a build makes hundreds of megabytes of
 * arrays and hardly any objects, so that V8 would collect them late.
 */
export function settle(store: ArrayStore, rowCount: number): void {
  store.settle(isPackedFrom);
  if (rowCount >= manyRows) collectGarbage();
}

/** Builds the columns with everything that searching them needs. */
export function buildColumns(task: ColumnsTask, store: ArrayStore): void {
  let domainSequence: Uint32Array | undefined;
  while (task.columns.length > 0) {
    domainSequence = buildNext(task, domainSequence, store) ?? domainSequence;
    settle(store, task.recordOfRow.length);
  }
}

// Returns the order of rows by domain once that is built: addresses of one local part follow one another by
// domain, so that the local part's postings are in address order.
function buildNext(
  task: ColumnsTask,
  domainSequence: Uint32Array | undefined,
  store: ArrayStore,
): Uint32Array | undefined {
  const { recordOfRow, sequence, frequentRows } = task;
  const isLocal = task.columns[0]?.name === 'addressLocal';
  const column = groupNext(task, isLocal ? (domainSequence ?? sequence) : sequence, store);
  settle(store, recordOfRow.length);
  if (containsColumns.has(column.name)) {
    buildTrigrams(column, store);
    settle(store, recordOfRow.length);
    buildFrequentTexts(column, frequentRows, store);
    settle(store, recordOfRow.length);
  }
  buildAlternateOrder(column, store);
  buildSpellings(column, store);
  buildWords(column, frequentRows, store);
  return column.name === 'addressDomain' ? blankFirst(column) : undefined;
}

// The texts as they came in are garbage when it returns.
function groupNext(
  { columns, recordOfRow }: ColumnsTask,
  sequence: Uint32Array,
  store: ArrayStore,
): BuiltColumn {
  return buildColumn({ ...(columns.shift() as ColumnInput), recordOfRow, sequence }, store);
}

function blankFirst({ postings, starts, groupCount }: BuiltColumn): Uint32Array {
  const rows = postings as Uint32Array;
  const blankStart = starts[groupCount - 1] as number;
  const sequence = new Uint32Array(rows.length);
  sequence.set(rows.subarray(blankStart));
  sequence.set(rows.subarray(0, blankStart), rows.length - blankStart);
  return sequence;
}
