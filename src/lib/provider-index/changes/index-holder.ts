import { openSubIndex, type SubIndex } from '../open-index.ts';
import type { IndexChanges, ProviderIndex, SharedIndexBytes } from '../types.ts';
import { openChangedIndex } from './open-changed-index.ts';

/** The index that a thread searches from now on. */
export interface IndexDelivery {
  /** Absent if the index stays and only its changes are others. */
  readonly bytes?: SharedIndexBytes;
  readonly changes: IndexChanges | undefined;
}

/** The index that one thread searches. An index whose changes alone are replaced stays open, with its working memory. */
export interface IndexHolder {
  take(delivery: IndexDelivery): void;
  drop(): void;
  readonly current: ProviderIndex | undefined;
}

export function createIndexHolder(): IndexHolder {
  let base: SubIndex | undefined;
  let current: ProviderIndex | undefined;
  return {
    take({ bytes, changes }) {
      if (bytes !== undefined) base = openSubIndex(bytes);
      if (base === undefined) return;
      current = changes === undefined ? base.index : openChangedIndex(base, changes);
    },
    drop() {
      base = undefined;
      current = undefined;
    },
    get current() {
      return current;
    },
  };
}
