import { textFields } from '../../provider-record/index.ts';
import { columnsOf, type ColumnName } from '../columns.ts';
import { maxTextLength } from '../text-column.ts';
import type { ColumnInput } from './build-columns.ts';
import { createGrowingColumn } from './growing-column.ts';
import { batchSize, createValueInterner } from './value-interner.ts';

/** Takes the texts of records in and keeps each distinct one once. */
export interface RecordTexts {
  /** The texts of one record, in the order of `textFields`. */
  add(texts: readonly string[]): void;
  /**
   * The same from UTF-8: the first and the end byte of each text in `spans`. `bytes` must not change until
   * bytes of another array have come, or the last record.
   */
  addBytes(bytes: Uint8Array, spans: Uint32Array): void;
  /** The columns of all records so far; nothing can be added afterwards. */
  finish(): Map<ColumnName, ColumnInput>;
}

// Room for texts that come as strings; at least one record's.
const encodedBytes = 1 << 20;
const mostRecordBytes = textFields.length * maxTextLength * 3;
const noBytes = new Uint8Array();

interface TextSource {
  readonly name: ColumnName;
  /** First and end byte of each waiting text. */
  readonly waiting: Uint32Array;
  intern(bytes: Uint8Array, count: number): void;
  finish(): ColumnInput;
}

export function createRecordTexts(expectedRecords: number): RecordTexts {
  const sources = textFields.flatMap((field, position) =>
    columnsOf(field).map((name) => ({ position, source: createTextSource(name, expectedRecords) })),
  );
  const encoder = new TextEncoder();
  const encodedSpans = new Uint32Array(textFields.length * 2);
  let encoded: Uint8Array = noBytes;
  let encodedEnd = 0;
  // The buffer of the waiting texts.
  let current: Uint8Array = noBytes;
  let count = 0;

  function internAll(): void {
    for (const { source } of sources) source.intern(current, count);
    count = 0;
  }

  function addBytes(bytes: Uint8Array, spans: Uint32Array): void {
    if (bytes !== current) {
      internAll();
      current = bytes;
    }
    const at = count * 2;
    for (let index = 0; index < sources.length; index++) {
      const { source, position } = sources[index] as (typeof sources)[number];
      source.waiting[at] = spans[position * 2] as number;
      source.waiting[at + 1] = spans[position * 2 + 1] as number;
    }
    if (++count === batchSize) internAll();
  }

  return {
    addBytes,
    add(texts) {
      if (encodedEnd + mostRecordBytes > encoded.length) {
        internAll();
        if (encoded.length === 0) encoded = new Uint8Array(encodedBytes);
        encodedEnd = 0;
      }
      for (let index = 0; index < textFields.length; index++) {
        encodedSpans[index * 2] = encodedEnd;
        encodedEnd += encoder.encodeInto(texts[index] as string, encoded.subarray(encodedEnd)).written;
        encodedSpans[index * 2 + 1] = encodedEnd;
      }
      addBytes(encoded, encodedSpans);
    },
    finish() {
      internAll();
      return new Map(sources.map(({ source }) => [source.name, source.finish()]));
    },
  };
}

// The part of a text that the column contains, relative to its first `@`.
type Part = 'whole' | 'up to @' | 'behind @';

function splitAll(bytes: Uint8Array, spans: Uint32Array, part: Exclude<Part, 'whole'>): void {
  const moved = part === 'behind @' ? 0 : 1;
  for (let at = 0; at < spans.length; at += 2)
    spans[at + moved] = splitOf(bytes, spans[at] as number, spans[at + 1] as number);
}

// Start of the domain: after the first `@`, or at the end if there is none.
function splitOf(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at++) if (bytes[at] === 0x40) return at + 1;
  return end;
}

function createTextSource(name: ColumnName, expectedRecords: number): TextSource {
  const part: Part = name === 'addressLocal' ? 'up to @' : name === 'addressDomain' ? 'behind @' : 'whole';
  const interner = createValueInterner();
  const values = createGrowingColumn(expectedRecords);
  const waiting = new Uint32Array(batchSize * 2);
  const numbers = new Uint32Array(batchSize);
  return {
    name,
    waiting,
    intern(bytes, count) {
      if (part !== 'whole') splitAll(bytes, waiting.subarray(0, count * 2), part);
      interner.intern(bytes, waiting, count, numbers);
      values.pushAll(numbers.subarray(0, count));
    },
    finish: () => ({
      name,
      values: interner.finish(),
      valueOfRecord: values.finish(),
    }),
  };
}
