import { createArrayStore, type ArrayStore } from '../arrays.ts';
import { ProviderIndexError } from '../errors.ts';
import type { IndexBuilder, ProviderRecord, SharedIndexBytes } from '../types.ts';
import { columnNames, type ColumnName } from '../columns.ts';
import { maxTextLength } from '../text-column.ts';
import { buildColumn, groupValues, type Grouping } from './build-column.ts';
import { buildColumns, type ColumnInput, type ColumnsTask } from './build-columns.ts';
import { buildPoints } from './build-points.ts';
import { startColumnHelper } from './column-helper.ts';
import { fillGroups, groupStarts, orderOf } from './counting-sort.ts';
import { createGrowingColumn, type GrowingColumn } from './growing-column.ts';
import { createPointInterner, type PointInterner } from './point-interner.ts';
import { createValueInterner, type ValueInterner } from './value-interner.ts';

export interface IndexBuilderOptions {
  /** Sizes the first buffers; any number of records may follow. */
  readonly expectedRecords?: number;
  /** Parts of texts that match at least so many rows get a set of those rows; tests lower it. */
  readonly frequentRows?: number;
  /** From so many records on, a second thread builds half of the columns. */
  readonly helperRecords?: number;
}

interface TextSource {
  readonly interner: ValueInterner;
  readonly values: GrowingColumn;
}

const noPoint = 0xffffffff;

/** Collects records in any order and makes the index of them. Memory grows with the index, not with the text read. */
export function createIndexBuilder({
  expectedRecords = 0,
  frequentRows = 20_000,
  helperRecords = 200_000,
}: IndexBuilderOptions = {}): IndexBuilder {
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
      pointOfRecord.push(
        hasPoint ? points.intern(record.latitude as number, record.longitude as number) : noPoint,
      );
      const address = record.directAddress;
      const at = address.indexOf('@') + 1;
      const split = at === 0 ? address.length : at;
      put.addressLocal(address, 0, split);
      put.addressDomain(address, split, address.length);
      put.npi(record.npi, 0, record.npi.length);
      put.firstName(record.firstName, 0, record.firstName.length);
      put.middleName(record.middleName, 0, record.middleName.length);
      put.lastName(record.lastName, 0, record.lastName.length);
      put.suffix(record.suffix, 0, record.suffix.length);
      put.organization(record.organization, 0, record.organization.length);
      put.specialty(record.specialty, 0, record.specialty.length);
      put.street(record.street, 0, record.street.length);
      put.city(record.city, 0, record.city.length);
      put.state(record.state, 0, record.state.length);
      put.zip(record.zip, 0, record.zip.length);
      put.phone(record.phone, 0, record.phone.length);
    },
    finish: () =>
      finishIndex({
        ids: ids.subarray(0, count),
        sources,
        points,
        pointOfRecord: pointOfRecord.values(),
        frequentRows,
        helperRecords,
      }),
  };
}

function createTextSource(expectedRecords: number): TextSource {
  return { interner: createValueInterner(), values: createGrowingColumn(expectedRecords) };
}

type Put = (text: string, from: number, to: number) => void;

// One function for each column, so that adding a record looks nothing up.
function putters(sources: ReadonlyMap<ColumnName, TextSource>): Record<ColumnName, Put> {
  const putterFor = (name: ColumnName): Put => {
    const { interner, values } = sources.get(name) as TextSource;
    return (text, from, to) => values.push(interner.intern(text, from, to));
  };
  return {
    npi: putterFor('npi'),
    firstName: putterFor('firstName'),
    middleName: putterFor('middleName'),
    lastName: putterFor('lastName'),
    suffix: putterFor('suffix'),
    addressDomain: putterFor('addressDomain'),
    addressLocal: putterFor('addressLocal'),
    organization: putterFor('organization'),
    specialty: putterFor('specialty'),
    street: putterFor('street'),
    city: putterFor('city'),
    state: putterFor('state'),
    zip: putterFor('zip'),
    phone: putterFor('phone'),
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

interface Collected {
  readonly ids: Float64Array;
  readonly sources: Map<ColumnName, TextSource>;
  readonly points: PointInterner;
  readonly pointOfRecord: Uint32Array;
  readonly frequentRows: number;
  readonly helperRecords: number;
}

function finishIndex({
  ids,
  sources,
  points,
  pointOfRecord,
  frequentRows,
  helperRecords,
}: Collected): SharedIndexBytes {
  const store = createArrayStore();
  const npi = takeColumn(sources, 'npi');
  const npiGrouping = groupValues(npi.values);
  const recordOfRow = orderRows(orderOf(ids), npi.valueOfRecord, npiGrouping);
  const sequence = rowsById(ids, recordOfRow);
  const taskFor = (names: readonly ColumnName[]): ColumnsTask => ({
    columns: names.map((name) => takeColumn(sources, name)),
    recordOfRow,
    sequence,
    frequentRows,
  });
  const helper = ids.length >= helperRecords ? startColumnHelper(taskFor(helperColumns)) : undefined;
  writeIds(ids, recordOfRow, store);
  buildColumn({ ...npi, grouping: npiGrouping, recordOfRow }, store);
  buildColumns(
    taskFor(
      columnNames.filter((name) => name !== 'npi' && (helper === undefined || !helperColumns.includes(name))),
    ),
    store,
  );
  for (let record = 0; record < pointOfRecord.length; record++)
    if (pointOfRecord[record] === noPoint) pointOfRecord[record] = points.count;
  buildPoints({ points, pointOfRecord, recordOfRow, sequence }, store);
  const own = store.finish(ids.length);
  return helper === undefined ? own : joinBytes(own, helper.result());
}

// About half of the work; the two columns of an address stay together.
const helperColumns: readonly ColumnName[] = ['street', 'phone', 'zip', 'organization', 'city', 'middleName'];

// Hands a column's texts over, so that their memory is free as soon as the column is built.
function takeColumn(sources: Map<ColumnName, TextSource>, name: ColumnName): ColumnInput {
  const { interner, values } = sources.get(name) as TextSource;
  sources.delete(name);
  return {
    name,
    values: { bytes: interner.bytes, offsets: interner.offsets, count: interner.count },
    valueOfRecord: values.values(),
  };
}

function joinBytes(a: SharedIndexBytes, b: SharedIndexBytes): SharedIndexBytes {
  return {
    layout: { recordCount: a.layout.recordCount, arrays: [...a.layout.arrays, ...b.layout.arrays] },
    parts: [...a.parts, ...b.parts],
  };
}

// Rows lie in NPI order, blanks last, ties by id: the default order of results.
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

function writeIds(ids: Float64Array, recordOfRow: Uint32Array, store: ArrayStore): void {
  let largest = 0;
  for (let record = 0; record < ids.length; record++) largest = Math.max(largest, ids[record] as number);
  const target = store.allocate('ids', largest > 0xffffffff ? 'f64' : 'u32', ids.length);
  for (let row = 0; row < recordOfRow.length; row++) target[row] = ids[recordOfRow[row] as number] as number;
}

function enlarge(values: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(values.length * 2);
  larger.set(values);
  return larger;
}
