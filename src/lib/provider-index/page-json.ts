/** Writes records as JSON straight from the bytes of the dictionaries. */
import { roundUpMiles } from '../geo/index.ts';
import type { ColumnName } from './columns.ts';
import type { PointMap } from './points.ts';
import type { TextColumn } from './text-column.ts';
import type { SearchResult } from './types.ts';

export interface JsonContext {
  readonly columns: ReadonlyMap<ColumnName, TextColumn>;
  readonly points: PointMap;
  readonly ids: ArrayLike<number>;
}

// Names and order of Directory spec: Provider record; the id comes first and the coordinates and the distance last.
const wireColumns: readonly (readonly [label: string, ...columns: ColumnName[]])[] = [
  ['prov_npi', 'npi'],
  ['prov_first_name', 'firstName'],
  ['prov_mid_name', 'middleName'],
  ['prov_last_name', 'lastName'],
  ['prov_suffix', 'suffix'],
  ['serv_direct_addr', 'addressLocal', 'addressDomain'],
  ['org_name', 'organization'],
  ['prov_spec_text', 'specialty'],
  ['org_addr_1', 'street'],
  ['org_city', 'city'],
  ['org_state', 'state'],
  ['org_zip', 'zip'],
  ['org_phone', 'phone'],
];

// Bytes of the parts of a record that are not texts: names, quotes, numbers.
const fixedBytes = 512;

/** The JSON text of the providers array, in UTF-8. */
export function createPageWriter(context: JsonContext): (page: Pick<SearchResult, 'rows' | 'distances'>) => Uint8Array {
  const fields = wireColumns.map(([label, ...names]) => ({
    label: Buffer.from(`,"${label}":"`),
    columns: names.map((name) => context.columns.get(name) as TextColumn),
  }));
  let target = Buffer.allocUnsafe(1 << 16);
  let position = 0;

  function reserve(bytes: number): void {
    if (position + bytes <= target.length) return;
    const larger = Buffer.allocUnsafe(Math.max(target.length * 2, position + bytes));
    target.copy(larger, 0, 0, position);
    target = larger;
  }

  function put(source: Uint8Array, start: number, end: number): void {
    for (let at = start; at < end; at++) target[position++] = source[at] as number;
  }

  function putAscii(text: string): void {
    for (let at = 0; at < text.length; at++) target[position++] = text.charCodeAt(at);
  }

  function putText(column: TextColumn, row: number): void {
    const value = column.valueOf(row);
    const start = column.offsets[value] as number;
    const end = column.offsets[value + 1] as number;
    reserve(end - start + fixedBytes);
    put(column.values, start, end);
  }

  function putRecord(row: number, miles: number | undefined): void {
    reserve(fixedBytes);
    putAscii(`{"id":${context.ids[row]}`);
    for (const { label, columns } of fields) {
      put(label, 0, label.length);
      for (const column of columns) putText(column, row);
      target[position++] = 0x22;
    }
    const point = context.points.codes[row] as number;
    putAscii(`,"lat":${degrees(context.points.latitudes, point)},"lng":${degrees(context.points.longitudes, point)}`);
    putAscii(miles === undefined ? '}' : `,"distance":${roundUpMiles(miles)}}`);
  }

  return ({ rows, distances }) => {
    position = 0;
    target[position++] = 0x5b;
    for (let index = 0; index < rows.length; index++) {
      if (index > 0) target[position++] = 0x2c;
      putRecord(rows[index] as number, distances?.[index]);
    }
    target[position++] = 0x5d;
    return Uint8Array.prototype.slice.call(target, 0, position);
  };
}

// A record without coordinates has none to show: null, as the specification calls only the distance non-null.
function degrees(values: Float64Array, point: number): string {
  return point < values.length ? String(values[point]) : 'null';
}
