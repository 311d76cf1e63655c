import type { FilterContext } from '../filter-context.ts';
import type { OrderContext } from '../order/row-key.ts';

/** The index data that words are looked for in. */
export interface WordContext extends FilterContext, OrderContext {}

/** One of the indexes that a query is answered from. */
export interface IndexPart {
  readonly context: WordContext;
  /** Rows that are no longer valid. */
  readonly removed: Uint32Array | undefined;
  /** Where the rows of this index begin among those of all. */
  readonly firstRow: number;
}
