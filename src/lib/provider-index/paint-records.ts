import type { TextField } from '../provider-record/index.ts';
import { columnsOf } from './columns.ts';
import { createEntityHashes } from './distinct/hash-rows.ts';
import { ByteText, constantText, JsonOutput, type ConstantBytes } from './json-output.ts';
import { locatedRows, type TextColumn } from './text-column.ts';
import type { EntityKind, Envelope, ProviderIndex, RecordPainter, RecordPen, RecordValues } from './types.ts';
import {
  createRowNumbers,
  putDecimalNumber,
  putId,
  type JsonContext,
  type RowNumbers,
} from './write-records.ts';

const comma = 0x2c;
// Bytes of a number or a hash at most.
const numberBytes = 32;
// Texts from which one function derived others.
const maxDerived = 4096;
// Judgements that are kept, each in the slot of its texts' places.
const judgedSlots = 8192;

interface PaintedColumn {
  readonly column: TextColumn;
  readonly values: ByteText;
  /** Start and end of the texts of the chunk's rows. */
  readonly span: Uint32Array;
}

/** The next piece of a record: constant text, then a value. */
interface Piece {
  readonly before: ByteText;
  readonly kind: 'text' | 'id' | 'latitude' | 'longitude' | EntityKind | 'derived' | 'other';
  readonly values: ByteText;
  /** Set for a text, and for the text that another one is derived from. */
  readonly span: Uint32Array;
  /** By the text's first byte among the values of its column. */
  readonly derived: Map<number, ByteText>;
  readonly derive: (text: string) => string;
  readonly read: () => ConstantBytes;
}

/** How records of one shape with the same blank fields are written. */
interface Program {
  readonly pieces: readonly Piece[];
  readonly after: ByteText;
  /** Upper limit of a record's bytes, without the record's texts. */
  readonly fixedBytes: number;
}

type Paint = (rows: Uint32Array, envelope?: Envelope) => Uint8Array;

/** Writes records in the format of a painter, from the same bytes as `createRecordWriter`. */
export function createRecordPainting(context: JsonContext): ProviderIndex['paintRecords'] {
  const known = new Map<RecordPainter, Paint>();
  return (rows, painter, envelope) => {
    const paint = known.get(painter) ?? compilePainter(painter, context);
    known.set(painter, paint);
    return paint(rows, envelope);
  };
}

function compilePainter(painter: RecordPainter, context: JsonContext): Paint {
  const { points } = context;
  const numbers = createRowNumbers(context);
  const chunk = createChunk(painter, context, numbers);
  const { columns, bits } = chunk;
  const hashes = createEntityHashes(
    painter.seed,
    new Map(
      [...chunk.parts].flatMap(([field, [first]]) => (first === undefined ? [] : [[field, first] as const])),
    ),
  );
  const programs = new Map<number, Program>();
  const output = new JsonOutput(1 << 16);
  const positionBit = 1 << painter.fields.length;

  /** Which fields of the record have a text, and whether it has a position. */
  function presenceOf(at: number): number {
    let presence = (numbers.points[at] as number) < points.count ? positionBit : 0;
    for (let index = 0; index < columns.length; index++) {
      const { span } = columns[index] as PaintedColumn;
      if (span[at * 2] !== span[at * 2 + 1]) presence |= bits[index] as number;
    }
    return presence;
  }

  function putPieces({ pieces, after, fixedBytes }: Program, at: number, row: number): void {
    output.reserve(fixedBytes);
    let left = fixedBytes;
    for (let index = 0; index < pieces.length; index++) {
      const piece = pieces[index] as Piece;
      const { before, kind, span } = piece;
      output.put(before, 0, before.length);
      left -= before.length;
      switch (kind) {
        case 'text': {
          const start = span[at * 2] as number;
          const end = span[at * 2 + 1] as number;
          output.reserve(end - start + left);
          output.put(piece.values, start, end);
          break;
        }
        case 'id':
          putId(output, numbers.ids[at] as number);
          left -= numberBytes;
          break;
        case 'latitude':
        case 'longitude':
          putDecimalNumber(output, points[`${kind}s`][numbers.points[at] as number] as number);
          left -= numberBytes;
          break;
        case 'organization':
        case 'place': {
          const hash = hashes.hashOf(kind, row, at);
          output.putHex(hash.high);
          output.putHex(hash.low);
          left -= numberBytes;
          break;
        }
        case 'derived':
        case 'other': {
          const text = kind === 'other' ? piece.read().bytes : derivedOf(piece, at);
          output.reserve(text.length + left);
          output.put(text, 0, text.length);
        }
      }
    }
    output.put(after, 0, after.length);
  }

  return (rows, envelope) => {
    for (let start = 0; start < rows.length; start += locatedRows) {
      const own = rows.subarray(start, start + locatedRows);
      for (const { column, span } of columns) column.locate(own, span);
      numbers.read(own);
      for (let at = 0; at < own.length; at++) {
        const row = own[at] as number;
        chunk.at = at;
        const shape = painter.shapeOf(chunk.values);
        const presence = presenceOf(at);
        const key = shape * positionBit * 2 + presence;
        let program = programs.get(key);
        if (program === undefined) {
          program = compileProgram(painter, shape, (bit) => (presence & bit) !== 0, chunk.parts);
          programs.set(key, program);
        }
        if (start + at > 0) {
          output.reserve(1);
          output.putByte(comma);
        }
        putPieces(program, at, row);
      }
    }
    return output.take(envelope);
  };
}

function derivedOf({ derived, derive, values, span }: Piece, at: number): ByteText {
  const start = span[at * 2] as number;
  let text = derived.get(start);
  if (text === undefined) {
    text = constantText(derive(textOf(values, start, span[at * 2 + 1] as number)));
    if (derived.size >= maxDerived) derived.clear();
    derived.set(start, text);
  }
  return text;
}

function textOf({ bytes }: ByteText, start: number, end: number): string {
  return Buffer.from(bytes.subarray(start, end)).toString();
}

/** The rows that are located together, and the values of the one that is written. */
interface Chunk {
  at: number;
  readonly values: RecordValues;
  readonly parts: ReadonlyMap<TextField, readonly PaintedColumn[]>;
  readonly columns: readonly PaintedColumn[];
  /** The bit of its field, for each of the columns. */
  readonly bits: readonly number[];
}

function createChunk(
  { fields }: RecordPainter,
  { columns, points }: JsonContext,
  numbers: RowNumbers,
): Chunk {
  const parts = new Map(
    fields.map((field): [TextField, PaintedColumn[]] => [
      field,
      columnsOf(field)
        .toReversed()
        .map((name) => {
          const column = columns.get(name) as TextColumn;
          return { column, values: new ByteText(column.values), span: new Uint32Array(locatedRows * 2) };
        }),
    ]),
  );
  const partsOf = (field: TextField): PaintedColumn[] => {
    const own = parts.get(field);
    if (own === undefined) throw new TypeError(`The painter did not name the field ${field}.`);
    return own;
  };
  const coordinate = (values: ArrayLike<number>): number | undefined => {
    const point = numbers.points[chunk.at] as number;
    return point >= points.count ? undefined : values[point];
  };
  const judgements = new Map<(values: RecordValues) => boolean, Judgement>();
  const values: RecordValues = {
    get id() {
      return numbers.ids[chunk.at] as number;
    },
    get latitude() {
      return coordinate(points.latitudes);
    },
    get longitude() {
      return coordinate(points.longitudes);
    },
    isBlank: (field) => partsOf(field).every(({ span }) => span[chunk.at * 2] === span[chunk.at * 2 + 1]),
    text: (field) =>
      partsOf(field)
        .map(({ values: bytes, span }) =>
          textOf(bytes, span[chunk.at * 2] as number, span[chunk.at * 2 + 1] as number),
        )
        .join(''),
    isTrue(asked, judge) {
      let judgement = judgements.get(judge);
      if (judgement === undefined) {
        judgement = createJudgement(asked.flatMap(partsOf));
        judgements.set(judge, judgement);
      }
      return judgement(chunk.at, numbers.points[chunk.at] as number, () => judge(values));
    },
  };
  const chunk: Chunk = {
    at: 0,
    values,
    parts,
    columns: [...parts.values()].flat(),
    bits: [...parts.values()].flatMap((own, index) => own.map(() => 1 << index)),
  };
  return chunk;
}

type Judgement = (at: number, point: number, judge: () => boolean) => boolean;

/** Keeps what was judged about the texts of some columns and a point. */
function createJudgement(columns: readonly PaintedColumn[]): Judgement {
  const width = columns.length + 1;
  const keys = new Int32Array(judgedSlots * width).fill(-1);
  const judged = new Uint8Array(judgedSlots);
  return (at, point, judge) => {
    let hash = Math.imul(point, 0x9e3779b1);
    for (let index = 0; index < columns.length; index++) {
      const { span } = columns[index] as PaintedColumn;
      hash = Math.imul(hash ^ (span[at * 2] as number), 0x85ebca6b);
      hash ^= hash >>> 15;
    }
    const slot = hash & (judgedSlots - 1);
    const first = slot * width;
    let isKnown = keys[first] === point;
    keys[first] = point;
    for (let index = 0; index < columns.length; index++) {
      const start = (columns[index] as PaintedColumn).span[at * 2] as number;
      if (keys[first + index + 1] !== (start | 0)) isKnown = false;
      keys[first + index + 1] = start;
    }
    if (!isKnown) judged[slot] = judge() ? 1 : 0;
    return judged[slot] === 1;
  };
}

const noText = constantText('');
const noSpan = new Uint32Array(0);
const nothing: Omit<Piece, 'before' | 'kind'> = {
  values: noText,
  span: noSpan,
  derived: new Map(),
  derive: () => '',
  read: () => ({ text: '', bytes: noText }),
};

/**
 * Notes what the painter writes for a shape. `has` tells whether the field of a bit has a text; the bit after
 * the fields is the position.
 */
function compileProgram(
  painter: RecordPainter,
  shape: number,
  has: (bit: number) => boolean,
  parts: ReadonlyMap<TextField, readonly PaintedColumn[]>,
): Program {
  const pieces: Piece[] = [];
  let before = '';
  let fixedBytes = 0;
  const constant = (): ByteText => {
    const text = constantText(before);
    fixedBytes += text.length;
    before = '';
    return text;
  };
  const add = (kind: Piece['kind'], more: Partial<Piece> = {}): void => {
    if (kind !== 'text' && kind !== 'derived' && kind !== 'other') fixedBytes += numberBytes;
    pieces.push({ ...nothing, before: constant(), kind, ...more });
  };
  const partsOf = (field: TextField): readonly PaintedColumn[] => {
    const own = parts.get(field);
    if (own === undefined) throw new TypeError(`The painter did not name the field ${field}.`);
    return own;
  };
  const pen: RecordPen = {
    hasPosition: has(1 << painter.fields.length),
    isBlank: (field) => {
      partsOf(field);
      return !has(1 << painter.fields.indexOf(field));
    },
    put(text) {
      before += text;
    },
    putOther: (read) => add('other', { read: read as Piece['read'] }),
    putField(field) {
      for (const { values, span } of partsOf(field)) add('text', { values, span });
    },
    putDerived(field, derive) {
      const [{ values, span }] = partsOf(field) as readonly [PaintedColumn];
      add('derived', { values, span, derive, derived: new Map() });
    },
    putId: () => add('id'),
    putLatitude: () => add('latitude'),
    putLongitude: () => add('longitude'),
    putEntity: (kind) => add(kind),
  };
  painter.paint(pen, shape);
  return { pieces, after: constant(), fixedBytes };
}
