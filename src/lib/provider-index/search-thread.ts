/** Runs in a worker thread of the search pool: answers queries over the shared index. */
import { serveTasks } from '../../core/threads/index.ts';
import { createIndexHolder } from './changes/index-holder.ts';
import { ProviderIndexError } from './errors.ts';
import type { SearchAnswer, SearchTask } from './search-pool.ts';
import { warmUp, warmUpSuggestions } from './warm-up.ts';

const holder = createIndexHolder();

serveTasks(
  async ({ delivery, query, suggestion }: SearchTask): Promise<SearchAnswer | undefined> => {
    const isFirst = holder.current === undefined;
    if (delivery !== undefined) holder.take(delivery);
    if (isFirst && holder.current !== undefined) {
      await warmUp(holder.current);
      warmUpSuggestions(holder.current);
    }
    if (query === undefined && suggestion === undefined) return undefined;
    if (holder.current === undefined)
      throw new ProviderIndexError('INDEX_NOT_READY', 'The search came before the index.');
    if (suggestion !== undefined) return holder.current.suggest(suggestion);
    return query && holder.current.search(query);
  },
  () => [],
);
