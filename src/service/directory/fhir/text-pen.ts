import { hashOfEntity, type EntitySeed, type RecordPen } from '../../../lib/provider-index/index.ts';
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
    id: record.id,
    latitude: record.latitude === '' ? undefined : Number(record.latitude),
    longitude: record.longitude === '' ? undefined : Number(record.longitude),
    isBlank: (field) => record[field] === '',
    text: (field) => record[field],
    entity: (kind) => hashOfEntity(record, kind, seed, plainText),
    put,
    putField: (field) => put(record[field]),
    putDerived: (field, derive) => put(derive(record[field])),
    putId: () => put(String(record.id)),
    putDegrees: (degrees) => put(String(degrees)),
    putHash: ({ high, low }) => put([high, low].map((half) => half.toString(16).padStart(8, '0')).join('')),
    putText: put,
    take() {
      const text = written;
      written = '';
      return text;
    },
  };
}

/** The values of a record that are written. */
export function textOf(record: JsonRecord, seed: EntitySeed, write: (pen: RecordPen) => void): string {
  const pen = createTextPen(record, seed);
  write(pen);
  return pen.take();
}
