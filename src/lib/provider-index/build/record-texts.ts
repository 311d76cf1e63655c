import { textFields } from '../../provider-record/index.ts';
import { columnsOf, type ColumnName } from '../columns.ts';
import type { ColumnInput } from './build-columns.ts';
import { createGrowingColumn } from './growing-column.ts';
import { createValueInterner } from './value-interner.ts';

/** Takes the texts of records in and keeps each distinct one once. */
export interface RecordTexts {
  /** The texts of one record, in the order of `textFields`. */
  add(texts: readonly string[]): void;
  /** The columns of all records so far; nothing can be added afterwards. */
  finish(): ReadonlyMap<ColumnName, ColumnInput>;
}

// Texts are interned column by column in batches: a column's tables stay in the processor's cache meanwhile.
const batchSize = 512;

interface TextSource {
  readonly name: ColumnName;
  readonly waiting: string[];
  intern(count: number): void;
  finish(): ColumnInput;
}

export function createRecordTexts(expectedRecords: number): RecordTexts {
  const sources = textFields.flatMap((field, position) =>
    columnsOf(field).map((name) => ({ position, source: createTextSource(name, expectedRecords) })),
  );
  let count = 0;

  function internAll(): void {
    for (const { source } of sources) source.intern(count);
    count = 0;
  }

  return {
    add(texts) {
      for (let index = 0; index < sources.length; index++) {
        const { source, position } = sources[index] as (typeof sources)[number];
        source.waiting[count] = texts[position] as string;
      }
      if (++count === batchSize) internAll();
    },
    finish() {
      internAll();
      return new Map(sources.map(({ source }) => [source.name, source.finish()]));
    },
  };
}

// Where the domain begins: behind the first `@`, or at the end if there is none.
function splitOf(address: string): number {
  const at = address.indexOf('@') + 1;
  return at === 0 ? address.length : at;
}

// Which part of a text the column is made of, as seen from its first `@`.
type Part = 'whole' | 'up to @' | 'behind @';

function createTextSource(name: ColumnName, expectedRecords: number): TextSource {
  const part: Part = name === 'addressLocal' ? 'up to @' : name === 'addressDomain' ? 'behind @' : 'whole';
  const interner = createValueInterner();
  const values = createGrowingColumn(expectedRecords);
  const waiting: string[] = Array.from({ length: batchSize }, () => '');
  return {
    name,
    waiting,
    intern(count) {
      for (let index = 0; index < count; index++) {
        const text = waiting[index] as string;
        const from = part === 'behind @' ? splitOf(text) : 0;
        const to = part === 'up to @' ? splitOf(text) : text.length;
        values.push(interner.intern(text, from, to));
      }
    },
    finish: () => ({
      name,
      values: { bytes: interner.bytes, offsets: interner.offsets, count: interner.count },
      valueOfRecord: values.values(),
    }),
  };
}
