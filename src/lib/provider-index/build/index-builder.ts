import { createArrayStore, type ArrayStore } from '../arrays.ts';
import { ProviderIndexError } from '../errors.ts';
import { textFields, type IndexBuilder, type ProviderRecord, type SharedIndexBytes } from '../types.ts';
import { columnNames, containsColumns, type ColumnName } from '../columns.ts';
import { maxTextLength } from '../text-column.ts';
import { buildAlternateOrder } from './build-alternate-order.ts';
import { buildColumn, groupValues, type BuiltColumn, type Grouping } from './build-column.ts';
import { buildFrequentTexts } from './build-frequent-texts.ts';
import { buildGrams, type BuiltGrams } from './build-grams.ts';
import { buildPoints } from './build-points.ts';
import { fillGroups, groupStarts, orderOf } from './counting-sort.ts';
import { createGrowingColumn, type GrowingColumn } from './growing-column.ts';
import { createPointInterner, type PointInterner } from './point-interner.ts';
import { createValueInterner, type ValueInterner } from './value-interner.ts';


export interface IndexBuilderOptions {
  /** Sizes the first buffers; any number of records may follow. */
  readonly expectedRecords?: number;
  /** Parts of texts that match at least so many rows get a set of those rows; tests lower it. */
  readonly frequentRows?: number;
}

interface TextSource {
  readonly interner: ValueInterner;
  readonly values: GrowingColumn;
}

const noPoint = 0xffffffff;

/** Collects records in any order and makes the index of them. Memory grows with the index, not with the text read. */
export function createIndexBuilder({ expectedRecords = 0, frequentRows = 20_000 }: IndexBuilderOptions = {}): IndexBuilder {
  const sources = new Map(columnNames.map((name) => [name, createTextSource(expectedRecords)]));
  const put = putters(sources);
  const points = createPointInterner();
  const pointOfRecord = createGrowingColumn(expectedRecords);
  let ids = new Float64Array(Math.max(1024, expectedRecords));
  let count = 0;
  return {
    add(record) {
      const hasPoint = checkRecord(record);
      if (count === ids.length) ids = enlarge(ids);
      ids[count++] = record.id;
      pointOfRecord.push(hasPoint ? points.intern(record.latitude as number, record.longitude as number) : noPoint);
      const at = record.directAddress.indexOf('@') + 1;
      put.addressLocal(at === 0 ? record.directAddress : record.directAddress.slice(0, at));
      put.addressDomain(at === 0 ? '' : record.directAddress.slice(at));
      put.npi(record.npi);
      put.firstName(record.firstName);
      put.middleName(record.middleName);
      put.lastName(record.lastName);
      put.suffix(record.suffix);
      put.organization(record.organization);
      put.specialty(record.specialty);
      put.street(record.street);
      put.city(record.city);
      put.state(record.state);
      put.zip(record.zip);
      put.phone(record.phone);
    },
    finish: () => finishIndex({ ids: ids.subarray(0, count), sources, points, pointOfRecord: pointOfRecord.values(), frequentRows }),
  };
}

function createTextSource(expectedRecords: number): TextSource {
  return { interner: createValueInterner(), values: createGrowingColumn(expectedRecords) };
}

// One function for each column, so that adding a record looks nothing up.
function putters(sources: ReadonlyMap<ColumnName, TextSource>): Record<ColumnName, (text: string) => void> {
  const entries = [...sources].map(([name, { interner, values }]) => [name, (text: string) => values.push(interner.intern(text))] as const);
  return Object.fromEntries(entries) as Record<ColumnName, (text: string) => void>;
}

// True with coordinates.
function checkRecord(record: ProviderRecord): boolean {
  if (!Number.isSafeInteger(record.id) || record.id < 0) {
    throw new ProviderIndexError('INDEX_RECORD_INVALID', 'A record id is no non-negative whole number.');
  }
  for (const field of textFields) {
    if (record[field].length > maxTextLength) {
      throw new ProviderIndexError('INDEX_RECORD_INVALID', `The ${field} of record ${record.id} is longer than ${maxTextLength} characters.`);
    }
  }
  const { latitude, longitude } = record;
  if (latitude === undefined && longitude === undefined) return false;
  if (latitude === undefined || longitude === undefined || !(Math.abs(latitude) <= 90) || !(Math.abs(longitude) <= 180)) {
    throw new ProviderIndexError('INDEX_RECORD_INVALID', `Record ${record.id} has faulty coordinates.`);
  }
  return true;
}

interface Collected {
  readonly ids: Float64Array;
  readonly sources: Map<ColumnName, TextSource>;
  readonly points: PointInterner;
  readonly pointOfRecord: Uint32Array;
  readonly frequentRows: number;
}

function finishIndex({ ids, sources, points, pointOfRecord, frequentRows }: Collected): SharedIndexBytes {
  const store = createArrayStore();
  const npi = sources.get('npi') as TextSource;
  const npiGrouping = groupValues(npi.interner);
  const recordOfRow = orderRows(orderOf(ids), npi.values.values(), npiGrouping);
  writeIds(ids, recordOfRow, store);
  const sequence = rowsById(ids, recordOfRow);
  const searchable: (readonly [BuiltColumn, BuiltGrams])[] = [];
  let domainSequence = sequence;
  for (const name of columnNames) {
    const { interner, values } = sources.get(name) as TextSource;
    const column = buildColumn(
      {
        name,
        values: interner,
        valueOfRecord: values.values(),
        recordOfRow,
        ...(name === 'npi' ? { grouping: npiGrouping } : { sequence: name === 'addressLocal' ? domainSequence : sequence }),
      },
      store,
    );
    sources.delete(name);
    // Addresses of one local part follow one another by domain, so that the local part's postings are in address order.
    if (name === 'addressDomain') domainSequence = blankFirst(column);
    if (containsColumns.has(name)) searchable.push([column, buildGrams(column, store)]);
    buildAlternateOrder(column, store);
  }
  buildFrequentTexts(searchable, frequentRows, store);
  for (let record = 0; record < pointOfRecord.length; record++) if (pointOfRecord[record] === noPoint) pointOfRecord[record] = points.count;
  buildPoints({ points, pointOfRecord, recordOfRow, sequence }, store);
  return store.finish(ids.length);
}

// Rows lie in NPI order, blanks last, ties by id: the default order of results.
function orderRows(recordsById: Uint32Array, values: Uint32Array, { groupOf, groupCount }: Grouping): Uint32Array {
  const codes = new Uint32Array(values.length);
  for (let record = 0; record < codes.length; record++) codes[record] = groupOf[values[record] as number] as number;
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

function writeIds(ids: Float64Array, recordOfRow: Uint32Array, store: ArrayStore): void {
  let largest = 0;
  for (let record = 0; record < ids.length; record++) largest = Math.max(largest, ids[record] as number);
  const target = store.allocate('ids', largest > 0xffffffff ? 'f64' : 'u32', ids.length);
  for (let row = 0; row < recordOfRow.length; row++) target[row] = ids[recordOfRow[row] as number] as number;
}

function blankFirst({ postings, starts, groupCount }: BuiltColumn): Uint32Array {
  const rows = postings as Uint32Array;
  const blankStart = starts[groupCount - 1] as number;
  const sequence = new Uint32Array(rows.length);
  sequence.set(rows.subarray(blankStart));
  sequence.set(rows.subarray(0, blankStart), rows.length - blankStart);
  return sequence;
}

function enlarge(values: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(values.length * 2);
  larger.set(values);
  return larger;
}
