import type { Closable } from '../../core/index.ts';
import { ProviderIndexError } from './errors.ts';
import { openIndex } from './open-index.ts';
import type { ProviderIndex, ProviderQuery, SearchResult, SharedIndexBytes } from './types.ts';

export interface SearchPoolOptions {
  /** Worker threads for heavy queries; 0 answers everything in the calling thread. */
  readonly threads: number;
}

/** A page ready to be sent: count and text come from one and the same index. */
export interface SearchPage {
  readonly totalCount: number;
  /** Records on this page. */
  readonly count: number;
  /** UTF-8 JSON text of the providers array. */
  readonly providersJson: Uint8Array;
}

export interface SearchPool extends Closable {
  /** Heavy queries run in a worker thread, light ones at once. Throws INDEX_NOT_READY before the first swap. */
  search(query: ProviderQuery): Promise<SearchPage>;
  findByNpi(npi: string): SearchPage;
  /** Later searches use the new index; searches under way finish on the one they started with. */
  swap(bytes: SharedIndexBytes): void;
  readonly current: ProviderIndex | undefined;
}

export function createSearchPool(_options: SearchPoolOptions): SearchPool {
  let current: ProviderIndex | undefined;
  const needIndex = (): ProviderIndex => {
    if (current === undefined) throw new ProviderIndexError('INDEX_NOT_READY', 'The directory is not loaded yet.');
    return current;
  };
  const page = (index: ProviderIndex, result: SearchResult): SearchPage => ({
    totalCount: result.totalCount,
    count: result.rows.length,
    providersJson: index.writePageJson(result),
  });
  return {
    search: async (query) => page(needIndex(), needIndex().search(query)),
    findByNpi: (npi) => {
      const rows = needIndex().findByNpi(npi);
      return page(needIndex(), { totalCount: rows.length, rows });
    },
    swap: (bytes) => {
      current = openIndex(bytes);
    },
    get current() {
      return current;
    },
    close: async () => {
      current = undefined;
    },
  };
}
