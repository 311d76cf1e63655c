import { createRecentMap } from '../../core/index.ts';
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

// What an entry costs beside the page: its key, the map's slot and the objects.
const entryOverhead = 1024;

/** Keeps pages of `maxBytes` together; 0 keeps none, and equal queries at the same time still share one search. */
export function createPageCache(maxBytes: number): PageCache {
  const pages = createRecentMap<Promise<SearchPage>>(maxBytes);
  const underWay = new Map<string, Promise<SearchPage>>();

  function keep(key: string, page: SearchPage): Promise<SearchPage> {
    const kept = Promise.resolve(page);
    pages.set(key, kept, page.json.length + entryOverhead);
    return kept;
  }

  return {
    obtain(query, make) {
      const key = `${query.offset} ${query.limit}${resultKey(query)}`;
      const known = pages.get(key) ?? underWay.get(key);
      if (known !== undefined) return known;
      const made = make();
      if (!(made instanceof Promise)) return keep(key, made);
      underWay.set(key, made);
      made.then(
        (page) => {
          underWay.delete(key);
          void keep(key, page);
        },
        () => underWay.delete(key),
      );
      return made;
    },
  };
}
