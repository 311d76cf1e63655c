import type { LRUCache } from 'lru-cache';
import type { ChangeContext } from './change-times.ts';
import type { WordContext } from './words/context.ts';
import type { PackedField, PackedName } from './packed-rows.ts';

export interface IndexContext extends WordContext, ChangeContext {
  readonly packed: ReadonlyMap<PackedName, PackedField>;
  /** For named sets: the number of rows at the points before each leaf of the tree. */
  readonly sums: LRUCache<string, Uint32Array>;
}
