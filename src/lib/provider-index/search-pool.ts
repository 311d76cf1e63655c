import { Worker } from 'node:worker_threads';
import { threadScript, type Closable } from '../../core/index.ts';
import { ProviderIndexError } from './errors.ts';
import { createIndexHolder, type IndexDelivery } from './changes/index-holder.ts';
import type { IndexChanges, ProviderIndex, ProviderQuery, SearchResult, SharedIndexBytes } from './types.ts';

export interface SearchPoolOptions {
  /** Worker threads for heavy queries; 0 answers everything in the calling thread. */
  readonly threads: number;
  /** Queries that look at more rows than this by estimate run in a worker; tests lower it. */
  readonly heavyRows?: number;
}

/** A page ready to be sent: count and text come from one and the same index. */
export interface SearchPage {
  readonly totalCount: number;
  /** Records on this page. */
  readonly count: number;
  /** UTF-8 JSON text of the whole answer (Directory spec: Response envelope). */
  readonly json: Uint8Array;
}

export interface SearchPool extends Closable {
  /** Heavy queries run in a worker thread, light ones at once. Throws INDEX_NOT_READY before the first swap. */
  search(query: ProviderQuery): Promise<SearchPage>;
  findByNpi(npi: string): SearchPage;
  /**
   * Later searches use this index and what has changed since it was built; searches under way finish on what they
   * started with. With the bytes of the last swap, only the changes go to the threads.
   */
  swap(bytes: SharedIndexBytes, changes?: IndexChanges): void;
  readonly current: ProviderIndex | undefined;
}

/** What a search thread is told. */
export type PoolRequest =
  | { readonly kind: 'swap'; readonly delivery: IndexDelivery }
  | { readonly kind: 'search'; readonly id: number; readonly query: ProviderQuery };

/** What it answers. */
export type PoolReply =
  | { readonly id: number; readonly page: SearchPage }
  | { readonly id: number; readonly failure: string };

interface Waiting {
  resolve(page: SearchPage): void;
  reject(error: Error): void;
}

interface SearchThread {
  readonly worker: Worker;
  readonly waiting: Map<number, Waiting>;
}

// About a third of a millisecond.
const defaultHeavyRows = 30_000;

/** Keeps the index in use and threads that share it. Starting a thread costs about 50 ms and no copy of the index. */
export function createSearchPool({ threads, heavyRows = defaultHeavyRows }: SearchPoolOptions): SearchPool {
  const holder = createIndexHolder();
  let served: IndexDelivery | undefined;
  let isClosed = false;
  let nextId = 1;
  const pool: SearchThread[] = [];

  function needIndex(): ProviderIndex {
    if (holder.current === undefined)
      throw new ProviderIndexError('INDEX_NOT_READY', 'The directory is not loaded yet.');
    return holder.current;
  }

  function startThread(): SearchThread {
    const worker = new Worker(threadScript('search-thread', import.meta.url));
    const thread: SearchThread = { worker, waiting: new Map() };
    thread.worker.unref();
    thread.worker.on('message', (reply: PoolReply) => settle(thread, reply));
    thread.worker.on('error', (cause) => dropThread(thread, cause));
    if (served !== undefined) tell(thread, { kind: 'swap', delivery: served });
    pool.push(thread);
    return thread;
  }

  // A thread that fails, for want of memory for example, fails the searches in it; the next heavy one starts another.
  function dropThread(thread: SearchThread, cause: unknown): void {
    pool.splice(pool.indexOf(thread), 1);
    for (const { reject } of thread.waiting.values()) {
      reject(new ProviderIndexError('INDEX_NOT_READY', 'A search thread ended.', { cause }));
    }
  }

  function searchInThread(query: ProviderQuery): Promise<SearchPage> {
    const thread =
      pool.length < threads
        ? startThread()
        : pool.reduce((a, b) => (b.waiting.size < a.waiting.size ? b : a));
    const id = nextId++;
    return new Promise((resolve, reject) => {
      thread.waiting.set(id, { resolve, reject });
      // An idle thread does not keep the process alive, a searching one does.
      thread.worker.ref();
      tell(thread, { kind: 'search', id, query });
    });
  }

  return {
    async search(query) {
      const index = needIndex();
      return threads > 0 && index.estimateCost(query) > heavyRows
        ? searchInThread(query)
        : writePage(index, index.search(query));
    },
    findByNpi(npi) {
      const rows = needIndex().findByNpi(npi);
      const json = needIndex().writePageJson({ rows }, { before: answerStart, after: '}' });
      return { totalCount: rows.length, count: rows.length, json };
    },
    swap(bytes, changes) {
      if (isClosed) return;
      const delivery: IndexDelivery = served?.bytes === bytes ? { changes } : { bytes, changes };
      served = { bytes, changes };
      holder.take(delivery);
      for (const thread of pool) tell(thread, { kind: 'swap', delivery });
      while (pool.length < threads) startThread();
    },
    get current() {
      return holder.current;
    },
    async close() {
      isClosed = true;
      served = undefined;
      holder.drop();
      const closing = pool.splice(0);
      for (const { waiting } of closing) {
        for (const { reject } of waiting.values())
          reject(new ProviderIndexError('INDEX_NOT_READY', 'The directory is closing.'));
      }
      await Promise.all(closing.map(({ worker }) => worker.terminate()));
    },
  };
}

function tell({ worker }: SearchThread, request: PoolRequest): void {
  worker.postMessage(request);
}

function settle({ waiting, worker }: SearchThread, reply: PoolReply): void {
  const request = waiting.get(reply.id);
  waiting.delete(reply.id);
  if (waiting.size === 0) worker.unref();
  if ('page' in reply) request?.resolve(reply.page);
  else request?.reject(new ProviderIndexError('INDEX_QUERY_INVALID', reply.failure));
}

const answerStart = '{"status":"OK","providers":';

/** Makes a page of a result of this index. The total is text on the wire. */
export function writePage(index: ProviderIndex, result: SearchResult): SearchPage {
  const after = `,"totalCount":"${result.totalCount}"}`;
  const json = index.writePageJson(result, { before: answerStart, after });
  return { totalCount: result.totalCount, count: result.rows.length, json };
}
