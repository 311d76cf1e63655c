import type { LRUCache } from 'lru-cache';
import type { ChangeContext } from './change-times.ts';
import type { FilterContext } from './filter-context.ts';
import type { OrderContext } from './order/row-key.ts';

export interface IndexContext extends FilterContext, OrderContext, ChangeContext {
  /** For named sets: the number of rows at the points before each point. */
  readonly sums: LRUCache<string, Uint32Array>;
}
