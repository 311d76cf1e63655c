import { openSubIndex, type SubIndex } from '../open-index.ts';
import type { IndexChanges, IndexTimes, ProviderIndex, SharedIndexBytes } from '../types.ts';
import { openChangedIndex } from './open-changed-index.ts';

/** The index that a thread searches from now on. */
export interface IndexDelivery {
  /** Absent if only the changes are replaced. */
  readonly bytes?: SharedIndexBytes;
  readonly changes: IndexChanges | undefined;
  readonly times: IndexTimes;
}

function isSame(a: IndexTimes, b: IndexTimes): boolean {
  return a.ownChange === b.ownChange && a.earliestChange === b.earliestChange;
}

/**
 * The index that one thread searches. An index whose changes alone are replaced stays open, with its working
 * memory.
 */
export interface IndexHolder {
  take(delivery: IndexDelivery): void;
  drop(): void;
  readonly current: ProviderIndex | undefined;
}

export function createIndexHolder(): IndexHolder {
  let base: SubIndex | undefined;
  let current: ProviderIndex | undefined;
  return {
    take({ bytes = base?.index.bytes, changes, times }) {
      if (bytes === undefined) return;
      if (base?.index.bytes !== bytes || !isSame(base.index.times, times))
        base = openSubIndex(bytes, { times });
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
