import {
  hashOfEntity,
  type ConstantText,
  type EntityKind,
  type EntitySeed,
  type RecordField,
  type RecordPen,
} from '../../../lib/provider-index/index.ts';
import type { ProviderRecord, TextField } from '../../../lib/provider-record/index.ts';

/** A pen over records that are not in an index, which collects text. */
export interface TextPen extends RecordPen {
  /** What `write` writes of a record. */
  textOf(record: ProviderRecord, write: () => void): string;
  /** True of a record: asks without writing. */
  isTrue(record: ProviderRecord, ask: () => boolean): boolean;
}

export function createTextPen(): TextPen {
  let record: ProviderRecord;
  let written = '';
  const putText = (text: string): void => {
    written += text;
  };
  const textOfField = (name: TextField): string => JSON.stringify(record[name]).slice(1, -1);
  return {
    get id() {
      return record.id;
    },
    get latitude() {
      return record.latitude;
    },
    get longitude() {
      return record.longitude;
    },
    field: (name): RecordField => ({
      get isBlank() {
        return record[name] === '';
      },
      get text() {
        return textOfField(name);
      },
      put: () => putText(textOfField(name)),
    }),
    entity: (kind, seed) => ({ put: () => putText(entityOf(record, kind, seed)) }),
    put: ({ text }: ConstantText) => putText(text),
    putText,
    putNumber: (value) => putText(String(value)),
    textOf(own, write) {
      record = own;
      write();
      const text = written;
      written = '';
      return text;
    },
    isTrue(own, ask) {
      record = own;
      return ask();
    },
  };
}

function entityOf(record: ProviderRecord, kind: EntityKind, seed: EntitySeed): string {
  const hash = hashOfEntity(record, kind, seed);
  if (hash === undefined) throw new TypeError(`The record is about no ${kind}.`);
  return [hash.high, hash.low].map((half) => half.toString(16).padStart(8, '0')).join('');
}

/** A text from between the quotes of JSON. */
export function plainText(json: string): string {
  return json.includes('\\') ? (JSON.parse(`"${json}"`) as string) : json;
}
