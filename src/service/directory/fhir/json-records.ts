import { viewAsBuffer } from '../../../core/index.ts';
import type { ProviderIndex, RecordFormat } from '../../../lib/provider-index/index.ts';
import { textFields, type ProviderRecord, type TextField } from '../../../lib/provider-record/index.ts';
import type { ResourceType } from './vocabulary.ts';

/**
 * A record whose texts are as they stand between the quotes of JSON, so that they are copied and not parsed.
 * Blank if unknown.
 */
export interface JsonRecord extends Readonly<Record<TextField, string>> {
  readonly id: number;
  readonly latitude: string;
  readonly longitude: string;
}

type ReadField = TextField | 'latitude' | 'longitude';

// No text in JSON has these bytes: they are escaped there.
const [betweenValues, afterRecord] = ['\u0001', '\u0002'];

/** The fields of a record that are read. */
export interface RecordPart {
  readonly fields: readonly ReadField[];
  readonly texts: readonly TextField[];
  readonly format: RecordFormat;
}

function partOf(...fields: ReadField[]): RecordPart {
  const values = [['', 'id'] as const, ...fields.map((field) => [betweenValues, field] as const)];
  const texts = fields.filter((field): field is TextField => field !== 'latitude' && field !== 'longitude');
  return { fields, texts, format: { values, distance: betweenValues, after: afterRecord } };
}

const placeFields = ['street', 'city', 'state', 'zip'] as const;

/** The fields of a record that each kind of resource needs. */
export const partsOfResources: Readonly<Record<ResourceType, RecordPart>> = {
  Endpoint: partOf('npi', 'lastName', 'directAddress', 'organization', ...placeFields),
  PractitionerRole: partOf('npi', 'lastName', 'organization', ...placeFields, 'specialty', 'phone'),
  Practitioner: partOf('npi', 'firstName', 'middleName', 'lastName', 'suffix', 'specialty'),
  Organization: partOf('organization', ...placeFields),
  Location: partOf(...placeFields, 'latitude', 'longitude'),
};

/** The records of some rows, read as the native answer is written. */
export function readJsonRecords(
  index: ProviderIndex,
  rows: Uint32Array,
  { fields, format }: RecordPart,
): JsonRecord[] {
  if (rows.length === 0) return [];
  const text = viewAsBuffer(index.writeRecords({ rows }, format)).toString();
  return text
    .slice(0, -1)
    .split(`${afterRecord},`)
    .map((line) => parseLine(line, fields));
}

function parseLine(line: string, fields: readonly ReadField[]): JsonRecord {
  const values = line.split(betweenValues);
  const record = { ...blank, id: Number(values[0]) };
  for (let at = 0; at < fields.length; at++) {
    const value = values[at + 1] as string;
    // Only coordinates are `null`; a text may say so.
    const field = fields[at] as ReadField;
    record[field] = value === 'null' && (field === 'latitude' || field === 'longitude') ? '' : value;
  }
  return record;
}

const blank: { -readonly [Key in keyof JsonRecord]: JsonRecord[Key] } = {
  id: 0,
  ...(Object.fromEntries(textFields.map((field) => [field, ''])) as Record<TextField, string>),
  latitude: '',
  longitude: '',
};

/** A record that does not come from the index. */
export function toJsonRecord(record: ProviderRecord): JsonRecord {
  const texts = textFields.map((field) => [field, JSON.stringify(record[field]).slice(1, -1)]);
  const { id, latitude, longitude } = record;
  return {
    id,
    ...(Object.fromEntries(texts) as Record<TextField, string>),
    latitude: latitude === undefined ? '' : String(latitude),
    longitude: longitude === undefined ? '' : String(longitude),
  };
}

/** The text itself. */
export function plainText(json: string): string {
  return json.includes('\\') ? (JSON.parse(`"${json}"`) as string) : json;
}
