import { ProviderIndexError } from '../errors.ts';
import { maxTextLength } from '../text-column.ts';
import type { IndexBuilder, ProviderRecord } from '../types.ts';
import { finishIndex, finishInThreads, noPoint, type Collected } from './finish-index.ts';
import { createGrowingColumn } from './growing-column.ts';
import { createPointInterner } from './point-interner.ts';
import { createRecordTexts } from './record-texts.ts';

export interface IndexBuilderOptions {
  /** Sizes the first buffers; any number of records may follow. */
  readonly expectedRecords?: number;
  /** Parts of texts that match at least so many rows get a set of those rows; tests lower it. */
  readonly frequentRows?: number;
}

/** Collects records in any order and makes the index of them. Memory grows with the index, not with the text read. */
export function createIndexBuilder({
  expectedRecords = 0,
  frequentRows = 20_000,
}: IndexBuilderOptions = {}): IndexBuilder {
  const texts = createRecordTexts(expectedRecords);
  const points = createPointInterner();
  const pointOfRecord = createGrowingColumn(expectedRecords);
  let ids = new Float64Array(Math.max(1024, expectedRecords));
  let count = 0;
  const collect = (): Collected => ({
    ids: ids.subarray(0, count),
    columns: texts.finish(),
    points,
    pointOfRecord: pointOfRecord.values(),
    frequentRows,
  });
  return {
    add(record) {
      const hasPoint = checkRecord(record);
      if (count === ids.length) ids = enlarge(ids);
      ids[count++] = record.id;
      pointOfRecord.push(
        hasPoint ? points.intern(record.latitude as number, record.longitude as number) : noPoint,
      );
      texts.add(record);
    },
    finish: () => finishIndex(collect()),
    finishInThreads: () => finishInThreads(collect()),
  };
}

// True with coordinates.
function checkRecord(record: ProviderRecord): boolean {
  if (!Number.isSafeInteger(record.id) || record.id < 0) {
    throw new ProviderIndexError('INDEX_RECORD_INVALID', 'A record id is no non-negative whole number.');
  }
  if (longestText(record) > maxTextLength) {
    throw new ProviderIndexError(
      'INDEX_RECORD_INVALID',
      `A text of record ${record.id} is longer than ${maxTextLength} characters.`,
    );
  }
  const { latitude, longitude } = record;
  if (latitude === undefined && longitude === undefined) return false;
  if (
    latitude === undefined ||
    longitude === undefined ||
    !(Math.abs(latitude) <= 90) ||
    !(Math.abs(longitude) <= 180)
  ) {
    throw new ProviderIndexError('INDEX_RECORD_INVALID', `Record ${record.id} has faulty coordinates.`);
  }
  return true;
}

// Spelled out, because this runs for each of millions of records.
function longestText(record: ProviderRecord): number {
  const names = Math.max(
    record.firstName.length,
    record.middleName.length,
    record.lastName.length,
    record.suffix.length,
  );
  const place = Math.max(
    record.street.length,
    record.city.length,
    record.state.length,
    record.zip.length,
    record.phone.length,
  );
  return Math.max(
    names,
    place,
    record.npi.length,
    record.directAddress.length,
    record.organization.length,
    record.specialty.length,
  );
}

function enlarge(values: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(values.length * 2);
  larger.set(values);
  return larger;
}
