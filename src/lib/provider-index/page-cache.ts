import { resultKey } from './result-key.ts';
import type { SearchPage } from './search-pool.ts';
import type { ProviderQuery } from './types.ts';

/** Pages of one index, by query. What was not asked for longest leaves first. */
export interface PageCache {
  /**
   * The page of a query: the one kept, the one being made for somebody else at this moment, or else what `make`
   * returns. A page that could not be made is not kept.
   */
  obtain(query: ProviderQuery, make: () => SearchPage | Promise<SearchPage>): Promise<SearchPage>;
}

interface Entry {
  readonly page: Promise<SearchPage>;
  /** 0 while the page is being made. */
  bytes: number;
}

// What an entry costs beside the page: its key, the map's slot and the objects.
const entryOverhead = 1024;

/** Keeps pages of `maxBytes` together; 0 keeps none, and equal queries at the same time still share one search. */
export function createPageCache(maxBytes: number): PageCache {
  // A Map lists its entries in the order of insertion: whoever is asked for again is inserted anew.
  const entries = new Map<string, Entry>();
  let bytes = 0;

  function drop(key: string, entry: Entry): void {
    if (entries.get(key) !== entry) return;
    entries.delete(key);
    bytes -= entry.bytes;
  }

  function keep(key: string, entry: Entry, page: SearchPage): void {
    entry.bytes = page.json.length + entryOverhead;
    bytes += entry.bytes;
    if (entry.bytes > maxBytes) drop(key, entry);
    if (bytes <= maxBytes) return;
    for (const [oldestKey, oldest] of entries) {
      if (bytes <= maxBytes) return;
      if (oldest.bytes > 0) drop(oldestKey, oldest);
    }
  }

  return {
    obtain(query, make) {
      const key = `${query.offset} ${query.limit}${resultKey(query)}`;
      const found = entries.get(key);
      if (found !== undefined) {
        entries.delete(key);
        entries.set(key, found);
        return found.page;
      }
      const made = make();
      const entry: Entry = { page: Promise.resolve(made), bytes: 0 };
      entries.set(key, entry);
      if (made instanceof Promise) {
        made.then(
          (page) => keep(key, entry, page),
          () => drop(key, entry),
        );
      } else keep(key, entry, made);
      return entry.page;
    },
  };
}
