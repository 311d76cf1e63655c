import type { LRUCache } from 'lru-cache';
import type { MatchLevel, WordField } from '../../search-words/index.ts';
import type { FilterContext } from '../filter-context.ts';
import type { Kept } from '../intersect.ts';
import type { OrderContext } from '../order/row-key.ts';
import type { RowSet } from './row-set.ts';

/** The index data that words are looked for in. */
export interface WordContext extends FilterContext, OrderContext {
  /** The rows of words asked for lately: with each letter somebody types, the words before it come again. */
  readonly knownWords: LRUCache<string, Kept<WordSets>>;
}

/** Rows that a word of the query fits in the same way. */
export interface WordClass {
  readonly level: MatchLevel;
  readonly field: WordField;
  readonly rows: RowSet;
}

/** The rows of one word of the query. */
export interface WordSets {
  readonly all: RowSet;
  /** Those in the classes may be in several; empty classes are left out. */
  readonly classes: readonly WordClass[];
}

/** One of the indexes that a query is answered from. */
export interface IndexPart {
  readonly context: WordContext;
  /** Rows that are no longer valid. */
  readonly removed: Uint32Array | undefined;
  /** Where the rows of this index begin among those of all. */
  readonly firstRow: number;
}
