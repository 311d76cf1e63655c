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

// Rows whose texts are located together.
const chunkRows = 64;

/** The JSON text of the providers array, in UTF-8. */
export function createPageWriter(
  context: JsonContext,
): (page: Pick<SearchResult, 'rows' | 'distances'>) => Uint8Array {
  const columns = wireColumns.flatMap(([label, ...names], field) =>
    names.map((name, part) => ({
      column: context.columns.get(name) as TextColumn,
      // What stands between this text and the one before.
      before: Buffer.from(part > 0 ? '' : field === 0 ? `,"${label}":"` : `","${label}":"`),
    })),
  );
  const spans = columns.map(() => new Uint32Array(chunkRows * 2));
  let target = Buffer.allocUnsafe(1 << 16);
  let position = 0;

  function reserve(bytes: number): void {
    if (position + bytes <= target.length) return;
    const larger = Buffer.allocUnsafe(Math.max(target.length * 2, position + bytes));
    target.copy(larger, 0, 0, position);
    target = larger;
  }

  function put(source: Uint8Array, start: number, end: number): void {
    const out = target;
    let to = position;
    for (let at = start; at < end; at++) out[to++] = source[at] as number;
    position = to;
  }

  function putAscii(text: string): void {
    const out = target;
    const to = position;
    for (let at = 0; at < text.length; at++) out[to + at] = text.charCodeAt(at);
    position = to + text.length;
  }

  // Where the texts of some rows lie, column by column: the processor fetches from many places of memory at once.
  function locate(rows: Uint32Array): number {
    let bytes = 0;
    for (let index = 0; index < columns.length; index++) {
      bytes += (columns[index] as (typeof columns)[number]).column.locate(rows, spans[index] as Uint32Array);
    }
    return bytes;
  }

  function putRecord(index: number, row: number, miles: number | undefined): void {
    putAscii(`{"id":${context.ids[row]}`);
    for (let field = 0; field < columns.length; field++) {
      const { column, before } = columns[field] as (typeof columns)[number];
      const span = spans[field] as Uint32Array;
      put(before, 0, before.length);
      put(column.values, span[index * 2] as number, span[index * 2 + 1] as number);
    }
    const point = context.points.codes[row] as number;
    putAscii(
      `","lat":${degrees(context.points.latitudes, point)},"lng":${degrees(context.points.longitudes, point)}`,
    );
    putAscii(miles === undefined ? '}' : `,"distance":${roundUpMiles(miles)}}`);
  }

  return ({ rows, distances }) => {
    position = 0;
    target[position++] = 0x5b;
    for (let start = 0; start < rows.length; start += chunkRows) {
      const chunk = rows.subarray(start, start + chunkRows);
      reserve(locate(chunk) + chunk.length * fixedBytes);
      for (let index = 0; index < chunk.length; index++) {
        if (start + index > 0) target[position++] = 0x2c;
        putRecord(index, chunk[index] as number, distances?.[start + index]);
      }
    }
    reserve(1);
    target[position++] = 0x5d;
    return Uint8Array.prototype.slice.call(target, 0, position);
  };
}

// A record without coordinates has none to show: null, as the specification calls only the distance non-null.
function degrees(values: Float64Array, point: number): string {
  return point < values.length ? String(values[point]) : 'null';
}
