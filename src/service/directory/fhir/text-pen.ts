import {
  hashOfEntity,
  type EntityKind,
  type EntitySeed,
  type RecordPen,
  type RecordValues,
} from '../../../lib/provider-index/index.ts';
import { plainText, type JsonRecord } from './json-records.ts';

/** A pen over a record that was read, which collects text. */
export interface TextPen extends RecordPen {
  take(): string;
}

export function createTextPen(record: JsonRecord, seed: EntitySeed): TextPen {
  let written = '';
  const put = (text: string): void => {
    written += text;
  };
  return {
    hasPosition: record.latitude !== '' && record.longitude !== '',
    isBlank: (field) => record[field] === '',
    put,
    putOther: (read) => put(read().text),
    putField: (field) => put(record[field]),
    putDerived: (field, derive) => put(derive(record[field])),
    putId: () => put(String(record.id)),
    putLatitude: () => put(String(Number(record.latitude))),
    putLongitude: () => put(String(Number(record.longitude))),
    putEntity: (kind) => put(entityOf(record, kind, seed)),
    take() {
      const text = written;
      written = '';
      return text;
    },
  };
}

function entityOf(record: JsonRecord, kind: EntityKind, seed: EntitySeed): string {
  const hash = hashOfEntity(record, kind, seed, plainText);
  if (hash === undefined) throw new TypeError(`The record is about no ${kind}.`);
  return [hash.high, hash.low].map((half) => half.toString(16).padStart(8, '0')).join('');
}

export function valuesOf(record: JsonRecord): RecordValues {
  const values: RecordValues = {
    id: record.id,
    latitude: record.latitude === '' ? undefined : Number(record.latitude),
    longitude: record.longitude === '' ? undefined : Number(record.longitude),
    isBlank: (field) => record[field] === '',
    text: (field) => record[field],
    isTrue: (_fields, judge) => judge(values),
  };
  return values;
}

/** The values of a record that are written. */
export function textOf(record: JsonRecord, seed: EntitySeed, write: (pen: RecordPen) => void): string {
  const pen = createTextPen(record, seed);
  write(pen);
  return pen.take();
}
