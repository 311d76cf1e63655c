/**
 * Makes an index of records: texts to columns, columns to sorted groups, and sets of rows for frequent
 * texts.
 * Used by `lib/provider-index`; others by its `index.ts`.
 * Begin with `createIndexBuilder` here, then `finish-index.ts` for the order of the steps.
 */
import { ProviderIndexError } from '../errors.ts';
import { maxTextLength } from '../text-column.ts';
import { textFields } from '../../provider-record/index.ts';
import type { IndexBuilder } from '../types.ts';
import { finishIndex, finishInThreads, noPoint, writeInThreads, type Collected } from './finish-index.ts';
import { createGrowingColumn, createSparseColumn } from './growing-column.ts';
import { createPointInterner } from './point-interner.ts';
import { readNumber } from './read-number.ts';
import { createRecordTexts } from './record-texts.ts';

export interface IndexBuilderOptions {
  /** Sizes the first buffers; any number of records may follow. */
  readonly expectedRecords?: number;
  /** Parts of texts that match at least so many rows get a set of those rows; tests lower it. */
  readonly frequentRows?: number;
  /** Sections of a column have at least so many rows; tests lower it. */
  readonly sectionRows?: number;
}

/**
 * Collects records in any order and makes the index of them. Memory grows with the index, not with the text
 * read.
 */
export function createIndexBuilder({
  expectedRecords = 0,
  frequentRows = 20_000,
  sectionRows = 10_000,
}: IndexBuilderOptions = {}): IndexBuilder {
  const texts = createRecordTexts(expectedRecords);
  const points = createPointInterner();
  const pointOfRecord = createGrowingColumn(expectedRecords);
  const changes = createSparseColumn();
  let ids = new Float64Array(Math.max(1024, expectedRecords));
  let count = 0;
  // Nothing is kept here, so that its memory can be given back while the index is built.
  const collect = (): Collected => {
    const idsOfRecords = ids.subarray(0, count);
    ids = new Float64Array(0);
    return {
      ids: idsOfRecords,
      columns: texts.finish(),
      points: points.finish(),
      pointOfRecord: pointOfRecord.finish(),
      changedAt: changes.values(count),
      frequentRows,
      sectionRows,
    };
  };
  function addPlace(
    id: number,
    latitude: number | undefined,
    longitude: number | undefined,
    changedAt: number,
  ): void {
    const hasPoint = checkPoint(id, latitude, longitude);
    changes.set(count, changedAt);
    if (count === ids.length) ids = enlarge(ids);
    ids[count++] = id;
    pointOfRecord.push(hasPoint ? points.intern(latitude as number, longitude as number) : noPoint);
  }
  return {
    add(record) {
      const fields = textFields.map((field) => record[field]);
      checkId(record.id);
      for (const text of fields) if (text.length > maxTextLength) throw tooLong(record.id);
      addPlace(record.id, record.latitude, record.longitude, record.changedAt ?? 0);
      texts.add(fields);
    },
    addBytes(id, bytes, spans, changedAt = 0) {
      checkId(id);
      for (let at = 0; at < textSpans; at += 2) {
        const [start, end] = [spans[at] as number, spans[at + 1] as number];
        if (end - start > maxTextLength && lengthOf(bytes.subarray(start, end)) > maxTextLength)
          throw tooLong(id);
      }
      addPlace(
        id,
        readNumber(bytes, spans[textSpans] as number, spans[textSpans + 1] as number),
        readNumber(bytes, spans[textSpans + 2] as number, spans[textSpans + 3] as number),
        changedAt,
      );
      texts.addBytes(bytes, spans);
    },
    finish: () => finishIndex(collect),
    finishInThreads: () => finishInThreads(collect),
    writeInThreads: (path) => writeInThreads(collect, path),
  };
}

const textSpans = textFields.length * 2;

function checkId(id: number): void {
  if (Number.isSafeInteger(id) && id >= 0) return;
  throw new ProviderIndexError('INDEX_RECORD_INVALID', 'A record id is not a non-negative whole number.');
}

function lengthOf(bytes: Uint8Array): number {
  return Buffer.from(bytes).toString().length;
}

function tooLong(id: number): ProviderIndexError {
  const text = `A text of record ${id} is longer than ${maxTextLength} characters.`;
  return new ProviderIndexError('INDEX_RECORD_INVALID', text);
}

// True with coordinates.
function checkPoint(id: number, latitude: number | undefined, longitude: number | undefined): boolean {
  if (latitude === undefined && longitude === undefined) return false;
  if (Math.abs(latitude ?? Number.NaN) <= 90 && Math.abs(longitude ?? Number.NaN) <= 180) return true;
  throw new ProviderIndexError('INDEX_RECORD_INVALID', `Record ${id} has faulty coordinates.`);
}

function enlarge(values: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(values.length * 2);
  larger.set(values);
  return larger;
}
