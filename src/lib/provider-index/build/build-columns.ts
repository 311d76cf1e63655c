import type { ArrayStore } from '../arrays.ts';
import { containsColumns, type ColumnName } from '../columns.ts';
import { buildAlternateOrder } from './build-alternate-order.ts';
import { buildColumn, type BuiltColumn, type ColumnSource } from './build-column.ts';
import { buildFrequentTexts } from './build-frequent-texts.ts';
import { buildSpellings } from './build-spellings.ts';
import { buildTrigrams } from './build-trigrams.ts';
import { buildWords } from './build-words.ts';

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
}

/** Builds the columns with everything that searching them needs. */
export function buildColumns(
  { columns, recordOfRow, sequence, frequentRows }: ColumnsTask,
  store: ArrayStore,
): void {
  let domainSequence = sequence;
  for (let input = columns.shift(); input !== undefined; input = columns.shift()) {
    // Addresses of one local part follow one another by domain, so that the local part's postings are in
    // address order.
    const column = buildColumn(
      { ...input, recordOfRow, sequence: input.name === 'addressLocal' ? domainSequence : sequence },
      store,
    );
    if (input.name === 'addressDomain') domainSequence = blankFirst(column);
    if (containsColumns.has(input.name))
      buildFrequentTexts(column, buildTrigrams(column, store), frequentRows, store);
    buildAlternateOrder(column, store);
    buildSpellings(column, store);
    buildWords(column, frequentRows, store);
  }
}

function blankFirst({ postings, starts, groupCount }: BuiltColumn): Uint32Array {
  const rows = postings as Uint32Array;
  const blankStart = starts[groupCount - 1] as number;
  const sequence = new Uint32Array(rows.length);
  sequence.set(rows.subarray(blankStart));
  sequence.set(rows.subarray(0, blankStart), rows.length - blankStart);
  return sequence;
}
