import { LRUCache } from 'lru-cache';

const maxKnown = 1000;
const viewMs = 3_600_000;

/** What one operator has viewed within the last hour, by the whole query. */
export interface RecentViews {
  /**
   * True if this view must be recorded: any but the refresh of an open page that is known. Notes it as
   * viewed.
   */
  note(query: string, isRefresh: boolean): boolean;
}

export function createRecentViews(): RecentViews {
  const viewed = new LRUCache<string, true>({ max: maxKnown, ttl: viewMs });
  return {
    note(query, isRefresh) {
      if (isRefresh && viewed.has(query)) return false;
      viewed.set(query, true);
      return true;
    },
  };
}
