import type { Closable } from '../../core/index.ts';
import {
  createTaskThreads,
  threadScript,
  type CodedFailure,
  type TaskThreads,
} from '../../core/threads/index.ts';
import { createIndexHolder, type IndexDelivery } from './changes/index-holder.ts';
import { ProviderIndexError, providerIndexErrors } from './errors.ts';
import type {
  IndexChanges,
  IndexTimes,
  ProviderIndex,
  ProviderQuery,
  SearchResult,
  SharedIndexBytes,
  SuggestionQuery,
  SuggestionResult,
} from './types.ts';
import { warmUp, warmUpWriting } from './warm-up.ts';

export interface SearchPoolOptions {
  /**
   * Worker threads for heavy queries, started with the first index that is large enough for one; 0 answers
   * everything in the calling thread, and so does a pool whose threads have not warmed up yet.
   */
  readonly threads: number;
  /** True if the first index will be large enough for threads: one of them starts at once then. */
  readonly expectsLarge?: boolean | undefined;
  /** Queries that look at more rows than this by estimate run in a worker; tests lower it. */
  readonly heavyRows?: number;
}

/** A page of a result, and the index whose rows it names. */
export interface FoundPage extends SearchResult {
  readonly index: ProviderIndex;
}

/** Suggestions, and the index whose rows they name. */
export interface FoundSuggestions extends SuggestionResult {
  readonly index: ProviderIndex;
}

export interface SearchPool extends Closable {
  /**
   * Heavy queries run in a worker thread, light ones at once. Throws INDEX_NOT_READY before the first swap.
   */
  search(query: ProviderQuery): Promise<FoundPage>;
  /**
   * In a worker thread if there is one. Throws INDEX_NOT_READY before the first swap, and the reason of
   * `signal` if it is aborted before a thread has begun.
   */
  suggest(query: SuggestionQuery, signal?: AbortSignal): Promise<FoundSuggestions>;
  /**
   * Searches from the call on use this index and its changes since it was built; searches in progress finish
   * on the index that they started with. With the bytes of the last swap, only the changes go to the threads.
   * Fulfilled once searches are as quick as later ones.
   */
  swap(bytes: SharedIndexBytes, changes?: IndexChanges, times?: IndexTimes): Promise<void>;
  readonly current: ProviderIndex | undefined;
}

/** The tasks of a search thread: load an index, then search it. */
export interface SearchTask {
  readonly delivery: IndexDelivery | undefined;
  readonly query: ProviderQuery | undefined;
  readonly suggestion?: SuggestionQuery;
}

/** What was asked for. */
export type SearchAnswer = SearchResult | SuggestionResult;

interface Served {
  readonly bytes: SharedIndexBytes;
  readonly changes: IndexChanges | undefined;
  readonly times: IndexTimes;
}

const noTimes: IndexTimes = { ownChange: 0, earliestChange: 0 };

interface SearchThread {
  readonly tasks: TaskThreads<SearchTask, SearchAnswer | undefined>;
  /** Tasks that the thread has accepted. */
  has: Served | undefined;
  waiting: number;
  /** It has answered a task: its first one is loading and warming up. */
  isWarm: boolean;
}

// About a third of a millisecond.
const defaultHeavyRows = 30_000;

/**
 * Keeps the index in use and threads that share it. Starting a thread costs about 50 ms and no copy of the
 * index.
 */
export function createSearchPool({
  threads,
  expectsLarge = false,
  heavyRows = defaultHeavyRows,
}: SearchPoolOptions): SearchPool {
  const holder = createIndexHolder();
  const script = threadScript('search-thread', import.meta.url);
  let pool: readonly SearchThread[] = [];
  let served: Served | undefined;
  let hasLargeIndex = false;
  let isWarm = false;
  let isClosed = false;

  function startThread(): SearchThread {
    const tasks = createTaskThreads<SearchTask, SearchAnswer | undefined>(script, {
      staysReady: true,
      restore: restoreError,
    });
    const thread = { tasks, has: undefined, waiting: 0, isWarm: false };
    pool = [...pool, thread];
    return thread;
  }

  /** Loads the served index there. A thread that cannot is not searched in until a later swap. */
  const load = (thread: SearchThread): Promise<unknown> => run(thread).catch(() => {});

  // One after another, so that searches share the processor with one warm-up at most.
  async function startOtherThreads(): Promise<void> {
    while (pool.length < threads && !isClosed) await load(startThread());
  }

  async function run(
    thread: SearchThread,
    query?: ProviderQuery,
    suggestion?: SuggestionQuery,
    signal?: AbortSignal,
  ): Promise<SearchAnswer | undefined> {
    const delivery = served && served !== thread.has ? deliver(served, thread.has) : undefined;
    thread.has = served;
    thread.waiting++;
    try {
      const task = { delivery, query, ...(suggestion && { suggestion }) };
      // A delivery must arrive, whoever waits for the answer.
      const answer = await thread.tasks.run(task, [], delivery === undefined ? signal : undefined);
      thread.isWarm = true;
      return answer;
    } catch (error) {
      if (error instanceof ProviderIndexError || (signal?.aborted === true && error === signal.reason))
        throw error;
      // The thread has ended with its accepted tasks; the next task gets a new thread.
      thread.has = undefined;
      throw new ProviderIndexError('INDEX_NOT_READY', 'A search thread ended.', { cause: error });
    } finally {
      thread.waiting--;
    }
  }

  function currentIndex(): ProviderIndex {
    if (holder.current !== undefined) return holder.current;
    throw new ProviderIndexError('INDEX_NOT_READY', 'The directory is not loaded yet.');
  }

  function isLight(query: ProviderQuery, index: ProviderIndex): boolean {
    return index.estimateCost(query) + pageRows(query, index) <= heavyRows;
  }

  function idlestThread(): SearchThread | undefined {
    const [first, ...others] = pool.filter(({ isWarm }) => isWarm);
    return first && others.reduce((a, b) => (b.waiting < a.waiting ? b : a), first);
  }

  if (expectsLarge && threads > 0) startThread();

  return {
    async search(query) {
      const index = currentIndex();
      const thread = idlestThread();
      if (thread === undefined || isLight(query, index)) return { ...index.search(query), index };
      return { ...((await run(thread, query)) as SearchResult), index };
    },
    async suggest(query, signal) {
      const index = currentIndex();
      const thread = idlestThread();
      if (thread === undefined) return { ...index.suggest(query), index };
      return { ...((await run(thread, undefined, query, signal)) as SuggestionResult), index };
    },
    async swap(bytes, changes, times = noTimes) {
      holder.take(deliver({ bytes, changes, times }, served));
      served = { bytes, changes, times };
      const index = currentIndex();
      const [started] = pool.map(load);
      // No query of a small index is heavy, and each thread takes some 30 MB.
      const isFirstLarge = !hasLargeIndex && threads > 0 && !isClosed && index.recordCount > heavyRows;
      hasLargeIndex ||= isFirstLarge;
      const loading = isFirstLarge ? (started ?? load(startThread())) : undefined;
      if (!isWarm && index.recordCount > 0) {
        isWarm = true;
        await warmUp(index, (query) => threads === 0 || isLight(query, index));
        warmUpWriting(index);
      }
      await loading;
      if (isFirstLarge) void startOtherThreads();
    },
    get current() {
      return holder.current;
    },
    async close() {
      isClosed = true;
      holder.drop();
      await Promise.all(pool.map(({ tasks }) => tasks.close()));
    },
  };
}

/** Rows of a page at most: a search by verification state asks for all rows of its query. */
function pageRows({ offset, limit }: ProviderQuery, { recordCount }: ProviderIndex): number {
  return Math.max(0, Math.min(limit, recordCount - offset));
}

function deliver({ bytes, changes, times }: Served, known: Served | undefined): IndexDelivery {
  return known?.bytes === bytes ? { changes, times } : { bytes, changes, times };
}

function restoreError({ code, message }: CodedFailure): Error {
  return code in providerIndexErrors
    ? new ProviderIndexError(code as keyof typeof providerIndexErrors, message)
    : new Error(`${code}: ${message}`);
}
