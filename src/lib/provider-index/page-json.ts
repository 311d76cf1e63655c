/** Writes records as JSON straight from the bytes of the dictionaries. */
import { roundUpMiles } from '../geo/index.ts';
import type { ColumnName } from './columns.ts';
import { byteText, constantText, createJsonOutput, type JsonOutput } from './json-output.ts';
import type { PointMap } from './points.ts';
import type { TextColumn } from './text-column.ts';
import type { ProviderIndex, TextAround } from './types.ts';

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

const nothingAround: TextAround = { before: '', after: '' };
const opening = constantText('{"id":');
const openingBracket = 0x5b;
const closingBracket = 0x5d;
const closingBrace = 0x7d;
const comma = 0x2c;

/** Writes the JSON text of a providers array in UTF-8, and the text around it. */
export function createPageWriter(context: JsonContext): ProviderIndex['writePageJson'] {
  const columns = wireColumns.flatMap(([label, ...names], field) =>
    names.map((name, part) => {
      const column = context.columns.get(name) as TextColumn;
      return {
        column,
        values: byteText(column.values),
        // What stands between this text and the one before.
        before: constantText(part > 0 ? '' : field === 0 ? `,"${label}":"` : `","${label}":"`),
        span: new Uint32Array(chunkRows * 2),
      };
    }),
  );
  const { ids, points } = context;
  const chunkIds = new Float64Array(chunkRows);
  const chunkPoints = new Uint32Array(chunkRows);
  const output = createJsonOutput(1 << 16);

  // Where the texts of some rows lie, column by column: the processor fetches from many places of memory at once.
  function locate(rows: Uint32Array): number {
    let bytes = 0;
    for (const { column, span } of columns) bytes += column.locate(rows, span);
    for (let index = 0; index < rows.length; index++) {
      chunkIds[index] = ids[rows[index] as number] as number;
      chunkPoints[index] = points.codes[rows[index] as number] as number;
    }
    return bytes;
  }

  function putRecord(index: number, miles: number | undefined): void {
    output.put(opening, 0, opening.length);
    putId(output, chunkIds[index] as number);
    for (let field = 0; field < columns.length; field++) {
      const { values, before, span } = columns[field] as (typeof columns)[number];
      output.put(before, 0, before.length);
      output.put(values, span[index * 2] as number, span[index * 2 + 1] as number);
    }
    output.putAscii(placeText(points, chunkPoints[index] as number));
    if (miles !== undefined) output.putAscii(`,"distance":${roundUpMiles(miles)}`);
    output.putByte(closingBrace);
  }

  return ({ rows, distances }, { before, after } = nothingAround) => {
    output.reserve(before.length + 1);
    output.putAscii(before);
    output.putByte(openingBracket);
    for (let start = 0; start < rows.length; start += chunkRows) {
      const chunk = rows.subarray(start, start + chunkRows);
      output.reserve(locate(chunk) + chunk.length * fixedBytes);
      for (let index = 0; index < chunk.length; index++) {
        if (start + index > 0) output.putByte(comma);
        putRecord(index, distances?.[start + index]);
      }
    }
    output.reserve(after.length + 1);
    output.putByte(closingBracket);
    output.putAscii(after);
    return output.take();
  };
}

function putId(output: JsonOutput, id: number): void {
  if (id <= 0x7fffffff) output.putDigits(id);
  else output.putAscii(String(id));
}

// The end of a record up to the distance.
function placeText({ count, latitudes, longitudes }: PointMap, point: number): string {
  return point < count
    ? `","lat":${latitudes[point]},"lng":${longitudes[point]}`
    : // A record without coordinates has none to show: null, as the specification calls only the distance non-null.
      '","lat":null,"lng":null';
}
