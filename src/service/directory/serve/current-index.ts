import { errorCode, errorText, type Closable, type Log } from '../../../core/index.ts';
import { createSearchPool, type SearchPool } from '../../../lib/provider-index/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { startIndexThread, type IndexThread } from '../index-thread/start-index-thread.ts';
import { DirectoryError } from '../errors.ts';
import { servedChangesFactor } from '../limits.ts';
import { openSnapshotFiles, type SnapshotFiles, type SnapshotName } from '../store/snapshot-files.ts';
import { loadState } from '../store/state.ts';
import type { StateRow } from '../store/tables.ts';
import { buildBase } from './build-base.ts';
import { isSame, type BaseIndex } from './choose-base.ts';
import { createRebuild } from './rebuild.ts';
import { findView, type ServedView } from './served-view.ts';

/** Longest pause between attempts when the index cannot be brought up to date. */
const longestPauseMs = 60_000;

/** The index that answers, kept up with the database. */
export interface CurrentIndex extends Closable {
  readonly pool: SearchPool;
  /** What is served; undefined before the first index is there. */
  readonly served: SnapshotName | undefined;
  /** Looks whether another generation or revision is to be served, and if so swaps to it. */
  refresh(): Promise<void>;
}

export interface CurrentIndexOptions {
  readonly storage: Storage;
  readonly log: Log;
  readonly snapshotDir: string;
  readonly searchThreads: number;
  readonly pollIntervalMs: number;
  /** Changes from which on a new index is built in the background. */
  readonly changesBeforeRebuild: number;
}

/**
 * Follows the active generation by polling, since another process may activate one. Searches are answered from what
 * was served before until the new view is complete (D29). A view is an index, in memory or read from its snapshot, and
 * what has changed since; without an index near enough, one is built from the stored blocks in a thread of its own.
 */
export function followDirectory(options: CurrentIndexOptions): CurrentIndex {
  const { storage, log } = options;
  const pool = createSearchPool({ threads: options.searchThreads });
  const threads = new Set<IndexThread>();
  const unreadable = new Set<string>();
  let served: SnapshotName | undefined;
  let base: BaseIndex | undefined;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let pauseMs = options.pollIntervalMs;
  const rebuild = createRebuild(
    async () => build(await loadState(storage)),
    () => void look(),
    (error) => {
      if (isClosed) return;
      log.error(
        { code: errorCode(error), reason: errorText(error) },
        'the directory index could not be built anew',
      );
    },
  );

  async function inThread<Result>(work: (thread: IndexThread) => Promise<Result>): Promise<Result> {
    if (isClosed) throw new DirectoryError('DIRECTORY_NOT_READY', 'The directory is closing');
    const thread = startIndexThread();
    threads.add(thread);
    try {
      return await work(thread);
    } finally {
      threads.delete(thread);
      await thread.close();
    }
  }

  function build(state: StateRow): Promise<BaseIndex> {
    const files = openSnapshotFiles(options.snapshotDir, state);
    return inThread((thread) => buildBase(storage, thread, files, state));
  }

  function view(state: StateRow, files: SnapshotFiles): Promise<ServedView | undefined> {
    const inMemory = [rebuild.take(), base].filter((one) => one !== undefined);
    const maxChanges = options.changesBeforeRebuild * servedChangesFactor;
    return inThread((thread) =>
      findView({ storage, thread, files, state, inMemory, unreadable, maxChanges, log }),
    );
  }

  async function obtainView(state: StateRow, files: SnapshotFiles): Promise<ServedView> {
    const found = await view(state, files);
    if (found !== undefined) return found;
    // More changes than are served: the index that is being built already is nearer than one begun now.
    await rebuild.settled();
    const later = rebuild.isReady && !isClosed ? await view(state, files) : undefined;
    return later ?? { base: await build(state), changes: undefined, changeCount: 0 };
  }

  async function catchUp(): Promise<void> {
    const state = await loadState(storage);
    const name: SnapshotName = { loadId: state.active_load_id, revision: state.revision };
    if (served !== undefined && isSame(served, name) && !rebuild.isReady) return;
    const startedAtMs = performance.now();
    const files = openSnapshotFiles(options.snapshotDir, state);
    if (served === undefined) files.removeAfter(state.revision);
    const found = await obtainView(state, files);
    if (isClosed) return;
    base = found.base;
    pool.swap(base.bytes, found.changes);
    served = name;
    const ms = Math.round(performance.now() - startedAtMs);
    const { recordCount: records } = pool.current ?? { recordCount: 0 };
    log.info({ ...name, records, base: base.name, changes: found.changeCount, ms }, 'directory in service');
    files.keepOnly(base.name);
    if (found.changeCount > options.changesBeforeRebuild) rebuild.begin();
  }

  function refresh(): Promise<void> {
    running ??= catchUp().finally(() => {
      running = undefined;
    });
    return running;
  }

  /**
   * After a failure the pauses grow: building an index in vain costs a minute of a processor. While changes come all the
   * time, following them takes at most half of the time.
   */
  async function look(): Promise<void> {
    const startedAtMs = performance.now();
    try {
      await refresh();
      pauseMs = Math.max(options.pollIntervalMs, performance.now() - startedAtMs);
    } catch (error) {
      if (isClosed) return;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      log.error(
        { code: errorCode(error), reason: errorText(error) },
        'the directory could not be brought up to date',
      );
    }
  }

  function schedule(): void {
    if (isClosed) return;
    timer = setTimeout(() => {
      void look().finally(schedule);
    }, pauseMs);
    timer.unref();
  }
  schedule();

  return {
    pool,
    get served() {
      return served;
    },
    // A refresh that is under way may have read the state before the caller's change; the second look is then needed.
    refresh: async () => {
      if (running !== undefined) await running.catch(() => {});
      await refresh();
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      clearTimeout(timer);
      await Promise.all(Array.from(threads, (thread) => thread.close()));
      await running?.catch(() => {});
      await rebuild.settled();
      await pool.close();
    },
  };
}
