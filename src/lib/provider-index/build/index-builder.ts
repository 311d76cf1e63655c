import type { IndexBuilder } from '../types.ts';

export interface IndexBuilderOptions {
  /** Sizes the first buffers; any number of records may follow. */
  readonly expectedRecords?: number;
}

/** Collects records in any order and makes the index of them. Memory grows with the index, not with the text read. */
export declare function createIndexBuilder(options?: IndexBuilderOptions): IndexBuilder;
