import { createGrowingCache } from '../../core/index.ts';
import type { AnyTransaction, Storage } from './storage.ts';

/** Longest time that a cached lookup may be out of date after a change by another process. */
const maxAgeMs = 1000;
const maxLookups = 20_000;

/**
 * Cached lookups of data that rarely changes and is needed for every message. A change made by this process
 * is seen at once, one made by another node as soon as it is announced, and any other (a command in another
 * process) within a second.
 */
export interface Lookups {
  find<T>(key: string, load: () => Promise<T>): Promise<T>;
  /** Drops all cached values, as an announcement does. */
  clear(): void;
  /** In the transaction that changes something. */
  changeIn(tx: AnyTransaction): void;
}

interface Entry {
  readonly value: Promise<unknown>;
  readonly until: number;
}

export function createLookups(storage: Storage, topic: string): Lookups {
  let entries = createGrowingCache<Entry>(maxLookups);
  function clear(): void {
    // A load that is in progress may have read the old state; its result is used only by its callers.
    entries = createGrowingCache<Entry>(maxLookups);
  }
  storage.onAnnounced(topic, clear);

  return {
    find<T>(key: string, load: () => Promise<T>): Promise<T> {
      const now = performance.now();
      const known = entries.get(key);
      if (known !== undefined && known.until > now) return known.value as Promise<T>;
      const entry = { value: load(), until: now + maxAgeMs };
      const into = entries;
      into.set(key, entry);
      entry.value.catch(() => into.delete(key));
      return entry.value;
    },
    clear,
    changeIn: (tx) => storage.announce(tx, topic),
  };
}
