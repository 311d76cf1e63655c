import { roundUpMiles } from '../geo/index.ts';
import { columnsOf, type ColumnName } from './columns.ts';
import { ByteText, constantText, JsonOutput } from './json-output.ts';
import type { PackedField, PackedName } from './packed-rows.ts';
import type { PointMap } from './points.ts';
import { locatedRows, type TextColumn } from './text-column.ts';
import type { Envelope, ProviderIndex, RecordFormat, RecordValue, SearchResult } from './types.ts';

export interface JsonContext {
  readonly columns: ReadonlyMap<ColumnName, TextColumn>;
  readonly points: PointMap;
  readonly packed: ReadonlyMap<PackedName, PackedField>;
  readonly ids: ArrayLike<number>;
}

// Bytes of the numbers of a record.
const numberBytes = 128;

const [comma, minus, point, zero] = [0x2c, 0x2d, 0x2e, 0x30];

type Writer = (page: Pick<SearchResult, 'rows' | 'distances'>, envelope?: Envelope) => Uint8Array;

/** Writes records straight from the bytes of the dictionaries, which are escaped for JSON already. */
export function createRecordWriter(context: JsonContext): ProviderIndex['writeRecords'] {
  const writers = new Map<RecordFormat, Writer>();
  return (page, format, envelope) => {
    const writer = writers.get(format) ?? compileWriter(format, context);
    writers.set(format, writer);
    return writer(page, envelope);
  };
}

/** The next piece of a record: constant text, then a value. */
interface Piece {
  readonly before: ByteText;
  readonly value: 'id' | 'latitude' | 'longitude' | 'text';
  /** Set for a text. */
  readonly column: TextColumn | undefined;
  readonly values: ByteText;
  /** Start and end of the texts of the chunk's rows. */
  readonly span: Uint32Array;
}

/** A format made ready for an index. */
interface Writing {
  readonly pieces: readonly Piece[];
  readonly columns: readonly Piece[];
  readonly after: ByteText;
  /** Upper limit of a record's bytes without its texts. */
  readonly fixedBytes: number;
  readonly points: PointMap;
  readonly numbers: RowNumbers;
}

function compileWriter({ values, distance, after }: RecordFormat, context: JsonContext): Writer {
  const pieces = values.flatMap(([before, value]) => piecesOf(before, value, context));
  const writing: Writing = {
    pieces,
    columns: pieces.filter(({ column }) => column !== undefined),
    after: constantText(after),
    fixedBytes:
      numberBytes +
      distance.length +
      after.length +
      pieces.reduce((sum, { before }) => sum + before.length, 0),
    points: context.points,
    numbers: createRowNumbers(context),
  };
  const beforeDistance = constantText(distance);
  const output = new JsonOutput(1 << 16);
  return ({ rows, distances }, envelope) => {
    for (let start = 0; start < rows.length; start += locatedRows) {
      const chunk = rows.subarray(start, start + locatedRows);
      output.reserve(locate(writing, chunk) + chunk.length * writing.fixedBytes);
      for (let index = 0; index < chunk.length; index++) {
        if (start + index > 0) output.putByte(comma);
        putRecord(output, writing, index);
        if (distances !== undefined) {
          output.put(beforeDistance, 0, beforeDistance.length);
          putDecimalNumber(output, roundUpMiles(distances[start + index] as number));
        }
        output.put(writing.after, 0, writing.after.length);
      }
    }
    return output.take(envelope);
  };
}

// Positions of the texts of some rows, column by column: the processor overlaps the memory accesses.
function locate({ columns, numbers }: Writing, rows: Uint32Array): number {
  let bytes = 0;
  for (const { column, span } of columns) bytes += (column as TextColumn).locate(rows, span);
  numbers.read(rows);
  return bytes;
}

/** Ids and points of the rows that are located together. */
export interface RowNumbers {
  readonly ids: ArrayLike<number>;
  readonly points: Uint32Array;
  read(rows: Uint32Array): void;
}

export function createRowNumbers({ packed, ids }: JsonContext): RowNumbers {
  const points = new Uint32Array(locatedRows);
  const pointField = packed.get('point') as PackedField;
  const idField = packed.get('id');
  const [shortIds, longIds] = [new Uint32Array(locatedRows), new Float64Array(locatedRows)];
  return {
    ids: idField === undefined ? longIds : shortIds,
    points,
    read(rows) {
      pointField.gather(rows, points);
      if (idField !== undefined) return idField.gather(rows, shortIds);
      for (let index = 0; index < rows.length; index++) longIds[index] = ids[rows[index] as number] as number;
    },
  };
}

// Up to the distance.
function putRecord(output: JsonOutput, { pieces, points, numbers }: Writing, index: number): void {
  for (let at = 0; at < pieces.length; at++) {
    const { before, value, values, span } = pieces[at] as Piece;
    output.put(before, 0, before.length);
    if (value === 'text') output.put(values, span[index * 2] as number, span[index * 2 + 1] as number);
    else if (value === 'id') putId(output, numbers.ids[index] as number);
    else putCoordinate(output, points, value, numbers.points[index] as number);
  }
}

function piecesOf(before: string, value: RecordValue, { columns }: JsonContext): Piece[] {
  if (value === 'id' || value === 'latitude' || value === 'longitude')
    return [{ before: constantText(before), value, column: undefined, values: noText, span: noSpan }];
  return columnsOf(value)
    .toReversed()
    .map((name, part) => {
      const column = columns.get(name) as TextColumn;
      return {
        before: constantText(part === 0 ? before : ''),
        value: 'text',
        column,
        values: new ByteText(column.values),
        span: new Uint32Array(locatedRows * 2),
      };
    });
}

const noText = constantText('');
const noSpan = new Uint32Array(0);

export function putId(output: JsonOutput, id: number): void {
  if (id <= 0x7fffffff) output.putDigits(id);
  else output.putAscii(String(id));
}

// Decimal places of coordinates and distances that are written digit by digit; making a text of a number
// costs ten times as much.
const decimalParts = 1e6;

// A record without coordinates has none to show: null, as the specification calls only the distance non-null.
function putCoordinate(
  output: JsonOutput,
  { count, latitudes, longitudes }: PointMap,
  value: 'latitude' | 'longitude',
  point: number,
): void {
  if (point >= count) {
    output.putAscii('null');
    return;
  }
  putDecimalNumber(output, (value === 'latitude' ? latitudes : longitudes)[point] as number);
}

/** As JavaScript writes the number. */
export function putDecimalNumber(output: JsonOutput, value: number): void {
  const parts = Math.round(Math.abs(value) * decimalParts);
  if (parts === 0 || parts / decimalParts !== Math.abs(value)) output.putAscii(String(value));
  else putDecimal(output, value < 0, parts);
}

function putDecimal(output: JsonOutput, isNegative: boolean, parts: number): void {
  if (isNegative) output.putByte(minus);
  const whole = Math.floor(parts / decimalParts);
  output.putDigits(whole);
  let rest = parts - whole * decimalParts;
  if (rest === 0) return;
  output.putByte(point);
  for (let unit = decimalParts / 10; rest > 0; unit /= 10) {
    const digit = Math.floor(rest / unit);
    output.putByte(zero + digit);
    rest -= digit * unit;
  }
}
