import type { TextField } from '../provider-record/index.ts';
import { columnsOf, type ColumnName } from './columns.ts';
import {
  combine,
  entityFields,
  hashTextBytes,
  type EntityField,
  type MutableHash,
} from './distinct/entity-hash.ts';
import { ByteText, type ConstantBytes, type JsonOutput } from './json-output.ts';
import type { PackedField, PackedName } from './packed-rows.ts';
import type { PointMap } from './points.ts';
import { locatedRows, type TextColumn } from './text-column.ts';
import type { ConstantText, EntityKind, EntitySeed, RecordField, RecordPen } from './types.ts';

export interface RecordContext {
  readonly rowCount: number;
  readonly columns: ReadonlyMap<ColumnName, TextColumn>;
  readonly points: PointMap;
  readonly packed: ReadonlyMap<PackedName, PackedField>;
  idOf(row: number): number;
  readonly changedAt: Uint32Array | undefined;
}

/**
 * The record of a row, written straight from the bytes of the dictionaries, which are escaped for JSON
 * already. Rows are located some at a time, so that the processor overlaps the accesses to memory.
 */
export class RecordCursor implements RecordPen {
  readonly #context: RecordContext;
  readonly #located = new Map<ColumnName, LocatedText>();
  readonly #entities = new Map<EntityKind, { seed: EntitySeed; put(): void }>();
  readonly #points = new Uint32Array(locatedRows);
  readonly #ids = new Uint32Array(locatedRows);
  readonly #highIds = new Uint32Array(locatedRows);
  #output: JsonOutput;
  #rows: Uint32Array = new Uint32Array(0);
  /** The record's place among the located rows. */
  at = 0;

  constructor(context: RecordContext, output: JsonOutput) {
    this.#context = context;
    this.#output = output;
  }

  get output(): JsonOutput {
    return this.#output;
  }

  /** At most `locatedRows` rows, which are written to this output. */
  locate(rows: Uint32Array, output: JsonOutput): void {
    this.#rows = rows;
    this.#output = output;
    for (const { column, span } of this.#located.values()) column.locate(rows, span);
    const { packed } = this.#context;
    (packed.get('point') as PackedField).gather(rows, this.#points);
    (packed.get('id') as PackedField).gather(rows, this.#ids);
    (packed.get('idHigh') as PackedField).gather(rows, this.#highIds);
  }

  get row(): number {
    return this.#rows[this.at] as number;
  }

  get id(): number {
    return (this.#ids[this.at] as number) + (this.#highIds[this.at] as number) * 2 ** 32;
  }

  /** When it changed, in seconds since 1970; 0 if with the load of the index. */
  get changedAt(): number {
    return this.#context.changedAt?.[this.row] ?? 0;
  }

  get latitude(): number | undefined {
    return this.#coordinate(this.#context.points.latitudeOf);
  }

  get longitude(): number | undefined {
    return this.#coordinate(this.#context.points.longitudeOf);
  }

  #coordinate(degreesOf: (point: number) => number): number | undefined {
    const point = this.#points[this.at] as number;
    return point >= this.#context.points.count ? undefined : degreesOf(point);
  }

  field(field: TextField): RecordField {
    const [last, first] = columnsOf(field);
    const end = this.#locatedOf(last as ColumnName);
    return first === undefined
      ? new FieldCursor(this, end, undefined)
      : new FieldCursor(this, this.#locatedOf(first), end);
  }

  #locatedOf(name: ColumnName): LocatedText {
    const known = this.#located.get(name);
    if (known !== undefined) return known;
    const column = this.#context.columns.get(name) as TextColumn;
    const { buffer, byteOffset, length } = column.values;
    const located = {
      column,
      values: new ByteText(column.values),
      text: Buffer.from(buffer, byteOffset, length),
      span: new Uint32Array(locatedRows * 2),
    };
    this.#located.set(name, located);
    return located;
  }

  /** One for all that write it: the id of an organization is needed at several places of its resource. */
  entity(kind: EntityKind, seed: EntitySeed): { put(): void } {
    const known = this.#entities.get(kind);
    if (known?.seed === seed) return known;
    const made = { seed, put: this.#prepareEntity(kind, seed) };
    this.#entities.set(kind, made);
    return made;
  }

  #prepareEntity(kind: EntityKind, seed: EntitySeed): () => void {
    const fields = entityFields[kind].map((field): HashedText => ({ ...this.#locatedOf(field), field }));
    const hash: MutableHash = { low: 0, high: 0 };
    let row = -1;
    return () => {
      if (row !== this.row) hashTexts(fields, this.at, seed, hash);
      row = this.row;
      this.#output.putHex(hash.high);
      this.#output.putHex(hash.low);
    };
  }

  put(text: ConstantText): void {
    const { bytes } = text as ConstantBytes;
    this.#output.put(bytes, 0, bytes.length);
  }

  putText(text: string): void {
    this.#output.putBytes(Buffer.from(text));
  }

  putNumber(value: number): void {
    this.#output.putNumber(value);
  }
}

/** A column and where the texts of the located rows are in its values: start and end of each. */
interface LocatedText {
  readonly column: TextColumn;
  readonly values: ByteText;
  readonly text: Buffer;
  readonly span: Uint32Array;
}

interface HashedText extends LocatedText {
  readonly field: EntityField;
}

const part: MutableHash = { low: 0, high: 0 };

function hashTexts(fields: readonly HashedText[], at: number, seed: EntitySeed, whole: MutableHash): void {
  whole.low = seed.low;
  whole.high = seed.high;
  for (let index = 0; index < fields.length; index++) {
    const { values, span, field } = fields[index] as HashedText;
    hashTextBytes(values.bytes, span[at * 2] as number, span[at * 2 + 1] as number, field, seed, part);
    combine(part.low, part.high, whole);
  }
}

class FieldCursor implements RecordField {
  readonly #cursor: RecordCursor;
  readonly #first: LocatedText;
  /** Of a field in two columns. */
  readonly #second: LocatedText | undefined;

  constructor(cursor: RecordCursor, first: LocatedText, second: LocatedText | undefined) {
    this.#cursor = cursor;
    this.#first = first;
    this.#second = second;
  }

  get isBlank(): boolean {
    return isEmpty(this.#first, this.#cursor.at) && (!this.#second || isEmpty(this.#second, this.#cursor.at));
  }

  get text(): string {
    const { at } = this.#cursor;
    return textAt(this.#first, at) + (this.#second === undefined ? '' : textAt(this.#second, at));
  }

  put(): void {
    const { at, output } = this.#cursor;
    const { values, span } = this.#first;
    output.put(values, span[at * 2] as number, span[at * 2 + 1] as number);
    if (this.#second !== undefined) {
      const { values: others, span: ends } = this.#second;
      output.put(others, ends[at * 2] as number, ends[at * 2 + 1] as number);
    }
  }
}

function isEmpty({ span }: LocatedText, at: number): boolean {
  return span[at * 2] === span[at * 2 + 1];
}

function textAt({ text, span }: LocatedText, at: number): string {
  return text.toString('utf8', span[at * 2], span[at * 2 + 1]);
}
