import { foldText } from '../../../core/index.ts';
import type { ProviderRecord, SearchField } from '../../provider-record/index.ts';
import type { ProviderFilter, EntityHash, EntityKind, EntitySeed } from '../types.ts';

export type EntityField = Exclude<SearchField, 'directAddress'>;

/**
 * The fields that identify an entity: records with the same folded texts (of the ZIP code the first five
 * digits) are about the same one.
 */
export const entityFields: Readonly<Record<EntityKind, readonly EntityField[]>> = {
  organization: ['organization', 'street', 'city', 'state', 'zip'],
  place: ['street', 'city', 'state', 'zip'],
};

/** A record in which all of these are blank has no such entity. */
export const requiredFields: Readonly<Record<EntityKind, readonly EntityField[]>> = {
  organization: ['organization'],
  place: entityFields.place,
};

/** Significant length of a folded text. */
export function countedBytes(field: SearchField, length: number): number {
  return field === 'zip' ? Math.min(5, length) : length;
}

export interface MutableHash {
  low: number;
  high: number;
}

/**
 * Two multiply-and-rotate states with a final mix that crosses them. Not cryptographic: the seed is secret.
 */
export function hashBytes(bytes: Uint8Array, length: number, seed: EntitySeed, out: MutableHash): void {
  let a = seed.low ^ 0x243f6a88;
  let b = seed.high ^ 0x85a308d3;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at] as number;
    a = Math.imul(a ^ byte, 0x9e3779b1);
    a = (a << 13) | (a >>> 19);
    b = Math.imul(b ^ byte, 0x85ebca6b);
    b = (b << 17) | (b >>> 15);
  }
  finish(a, b, out);
}

/** Adds the hash of the next field; begin with the seed. */
export function combine(low: number, high: number, out: MutableHash): void {
  const a = Math.imul(out.low ^ low, 0x9e3779b1);
  const b = Math.imul(out.high ^ high, 0x85ebca6b);
  finish((a << 13) | (a >>> 19), (b << 17) | (b >>> 15), out);
}

function finish(a: number, b: number, out: MutableHash): void {
  const low = Math.imul(a ^ (a >>> 16), 0xc2b2ae35) ^ Math.imul(b ^ (b >>> 13), 0x27d4eb2f);
  const high = Math.imul(b ^ (b >>> 16), 0x165667b1) ^ Math.imul(low ^ (low >>> 13), 0x9e3779b1);
  out.low = (low ^ (low >>> 15)) >>> 0;
  out.high = (high ^ (high >>> 14)) >>> 0;
}

/** The hash of the entity that a record is about; `read` gives its texts. */
export function hashOfEntity(
  record: Readonly<Record<EntityField, string>>,
  kind: EntityKind,
  seed: EntitySeed,
  read: (text: string) => string = (text) => text,
): EntityHash | undefined {
  if (!requiredFields[kind].some((field) => record[field] !== '')) return undefined;
  const whole: MutableHash = { low: seed.low, high: seed.high };
  const part: MutableHash = { low: 0, high: 0 };
  for (const field of entityFields[kind]) {
    hashFolded(read(record[field]), field, seed, part);
    combine(part.low, part.high, whole);
  }
  return whole;
}

const scratch = new Uint8Array(512);

// Most texts are short and ASCII, and folded while they are copied.
function hashFolded(text: string, field: EntityField, seed: EntitySeed, out: MutableHash): void {
  let length = 0;
  for (; length < text.length && length < scratch.length; length++) {
    const unit = text.charCodeAt(length);
    if (unit > 0x7f) break;
    scratch[length] = unit >= 0x41 && unit <= 0x5a ? unit | 0x20 : unit;
  }
  if (length === text.length) return hashBytes(scratch, countedBytes(field, length), seed, out);
  const folded = Buffer.from(foldText(text));
  hashBytes(folded, countedBytes(field, folded.length), seed, out);
}

/** The hash of one text as between the quotes of JSON, folded while it is read. */
export function hashTextBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  field: SearchField,
  seed: EntitySeed,
  out: MutableHash,
): void {
  const length = end - start;
  let at = 0;
  for (; at < length && at < scratch.length; at++) {
    const byte = bytes[start + at] as number;
    if (byte > 0x7f || byte === backslash) break;
    scratch[at] = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
  }
  if (at === length) {
    hashBytes(scratch, countedBytes(field, length), seed, out);
    return;
  }
  const text = Buffer.from(bytes.subarray(start, end)).toString();
  const folded = Buffer.from(foldText(JSON.parse(`"${text}"`) as string));
  hashBytes(folded, countedBytes(field, folded.length), seed, out);
}

const backslash = 0x5c;

/** The common values of an entity's records, as filters. */
export function filtersOfEntity(record: ProviderRecord, kind: EntityKind): ProviderFilter[] {
  return entityFields[kind].map((field) =>
    field === 'zip' && record.zip !== ''
      ? { field, match: 'zip-prefix', value: record.zip.slice(0, 5) }
      : { field, match: 'exact', value: record[field] },
  );
}
