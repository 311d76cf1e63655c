import type { TextField } from '../provider-record/index.ts';
import { columnsOf } from './columns.ts';
import {
  combine,
  entityFields,
  hashTextBytes,
  requiredFields,
  type MutableHash,
} from './distinct/entity-hash.ts';
import { ByteText, constantText, JsonOutput } from './json-output.ts';
import { locatedRows, type TextColumn } from './text-column.ts';
import type { EntityKind, Envelope, ProviderIndex, RecordPainter, RecordPen } from './types.ts';
import { putDecimalNumber, putId, type JsonContext } from './write-records.ts';

const comma = 0x2c;
// Bytes of a number at most.
const numberBytes = 32;
// Constants of a painter that are kept as bytes.
const maxConstants = 256;
// Texts from which one function derived others.
const maxDerived = 4096;
const hexDigits = Buffer.from('0123456789abcdef');

interface PaintedColumn {
  readonly column: TextColumn;
  readonly values: ByteText;
  /** Start and end of the texts of the chunk's rows. */
  readonly span: Uint32Array;
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

function compilePainter(
  { fields, seed, paint }: RecordPainter,
  { columns, ids, points }: JsonContext,
): Paint {
  const painted = new Map(
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
  const all = [...painted.values()].flat();
  const constants = new Map<string, ByteText>();
  const derived = new Map<(text: string) => string, Map<number, ByteText>>();
  const output = new JsonOutput(1 << 16);
  // The row of the chunk that is written.
  let at = 0;
  let row = 0;

  const partsOf = (field: TextField): PaintedColumn[] => {
    const own = painted.get(field);
    if (own === undefined) throw new TypeError(`The painter did not name the field ${field}.`);
    return own;
  };
  const coordinate = (values: ArrayLike<number>): number | undefined => {
    const point = points.codes[row] as number;
    return point >= points.count ? undefined : values[point];
  };
  const hashed = new Map<TextField, HashedField>();
  const hashOf = (field: TextField): HashedField => {
    let own = hashed.get(field);
    if (own === undefined) {
      own = createHashedField(field, partsOf(field)[0] as PaintedColumn, seed);
      hashed.set(field, own);
    }
    return own;
  };
  const entities: Readonly<Record<EntityKind, HashedEntity>> = {
    organization: { row: -1, hash: { low: 0, high: 0 } },
    place: { row: -1, hash: { low: 0, high: 0 } },
  };

  const pen: RecordPen = {
    get id() {
      return ids[row] as number;
    },
    get latitude() {
      return coordinate(points.latitudes);
    },
    get longitude() {
      return coordinate(points.longitudes);
    },
    isBlank(field) {
      const own = partsOf(field);
      for (let index = 0; index < own.length; index++) {
        const { span } = own[index] as PaintedColumn;
        if (span[at * 2] !== span[at * 2 + 1]) return false;
      }
      return true;
    },
    text(field) {
      let text = '';
      for (const { column, span } of partsOf(field))
        text += Buffer.from(column.values.subarray(span[at * 2], span[at * 2 + 1])).toString();
      return text;
    },
    entity(kind) {
      if (!requiredFields[kind].some((field) => !pen.isBlank(field))) return undefined;
      const known = entities[kind];
      if (known.row === row) return known.hash;
      known.row = row;
      known.hash.low = seed.low;
      known.hash.high = seed.high;
      for (const field of entityFields[kind]) hashOf(field).addTo(known.hash, row, at);
      return known.hash;
    },
    put(constant) {
      let text = constants.get(constant);
      if (text === undefined) {
        text = constantText(constant);
        if (constants.size < maxConstants) constants.set(constant, text);
      }
      output.reserve(text.length);
      output.put(text, 0, text.length);
    },
    putField(field) {
      const own = partsOf(field);
      for (let index = 0; index < own.length; index++) {
        const { values, span } = own[index] as PaintedColumn;
        const start = span[at * 2] as number;
        const end = span[at * 2 + 1] as number;
        output.reserve(end - start);
        output.put(values, start, end);
      }
    },
    putDerived(field, derive) {
      const [{ span }] = partsOf(field) as [PaintedColumn];
      let known = derived.get(derive);
      if (known === undefined) derived.set(derive, (known = new Map()));
      // The text's first byte among the values identifies it.
      const start = span[at * 2] as number;
      let text = known.get(start);
      if (text === undefined) {
        text = constantText(derive(pen.text(field)));
        if (known.size >= maxDerived) known.clear();
        known.set(start, text);
      }
      output.reserve(text.length);
      output.put(text, 0, text.length);
    },
    putId() {
      output.reserve(numberBytes);
      putId(output, ids[row] as number);
    },
    putDegrees(degrees) {
      output.reserve(numberBytes);
      putDecimalNumber(output, degrees);
    },
    putHash(hash) {
      output.reserve(16);
      for (const half of [hash.high, hash.low])
        for (let shift = 28; shift >= 0; shift -= 4)
          output.putByte(hexDigits[(half >>> shift) & 15] as number);
    },
    putText(text) {
      if (isAscii(text)) {
        output.reserve(text.length);
        output.putAscii(text);
        return;
      }
      const bytes = Buffer.from(text);
      output.reserve(bytes.length);
      output.put(new ByteText(bytes), 0, bytes.length);
    },
  };

  return (rows, envelope) => {
    for (let start = 0; start < rows.length; start += locatedRows) {
      const chunk = rows.subarray(start, start + locatedRows);
      for (const { column, span } of all) column.locate(chunk, span);
      for (at = 0; at < chunk.length; at++) {
        row = chunk[at] as number;
        output.reserve(1);
        if (start + at > 0) output.putByte(comma);
        paint(pen);
      }
    }
    return output.take(envelope);
  };
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

// The hash of an entity of the row that is written: most are needed twice.
interface HashedEntity {
  row: number;
  readonly hash: MutableHash;
}

interface HashedField {
  /** Combines the hash of a row's text into that of the entity; `at` is the row's place in the chunk. */
  addTo(entity: MutableHash, row: number, at: number): void;
}

// Hashes of texts that are kept per field, each in the slot of its group's lowest bits.
const hashSlots = 4096;

/** An organization and its place have most texts in common, and so have the rows of a page. */
function createHashedField(
  field: TextField,
  { column: { codes }, values, span }: PaintedColumn,
  seed: RecordPainter['seed'],
): HashedField {
  const groups = new Int32Array(hashSlots).fill(-1);
  const low = new Uint32Array(hashSlots);
  const high = new Uint32Array(hashSlots);
  const hash: MutableHash = { low: 0, high: 0 };
  return {
    addTo(entity, row, at) {
      const group = codes[row] as number;
      const slot = group & (hashSlots - 1);
      if (groups[slot] !== group) {
        hashTextBytes(values.bytes, span[at * 2] as number, span[at * 2 + 1] as number, field, seed, hash);
        groups[slot] = group;
        low[slot] = hash.low;
        high[slot] = hash.high;
      }
      combine(low[slot] as number, high[slot] as number, entity);
    },
  };
}
