import type { LRUCache } from 'lru-cache';
import type { ChangeContext } from './change-times.ts';
import type { FilterContext } from './filter-context.ts';
import type { OrderContext } from './order/row-key.ts';

export interface IndexContext extends FilterContext, OrderContext, ChangeContext {
  /** Of named sets how many rows the points before each one have. */
  readonly sums: LRUCache<string, Uint32Array>;
}
