/**
 * The index that this node searches: opened at the start, swapped after a load, rebuilt in the background.
 * Used by `service/directory`.
 * Begin with this file, then `view-source.ts`.
 */
import type { Closable } from '../../../core/index.ts';
import { createSearchPool, type SearchPool, type ProviderIndex } from '../../../lib/provider-index/index.ts';
import { createFaultLog } from '../../../platform/index.ts';
import type { SnapshotName } from '../store/snapshot-files.ts';
import { claimGeneration } from '../store/claim-generation.ts';
import { readIndexTimes } from '../store/change-times.ts';
import { loadState } from '../store/state.ts';
import type { DirectoryTables, StateRow } from '../store/tables.ts';
import { isSame } from './choose-base.ts';
import { createViewSource, type ViewSourceOptions } from './view-source.ts';

/** Longest pause between attempts when the index cannot be brought up to date. */
const longestPauseMs = 60_000;
/** Longest pause after a slow check. */
const longestBreakMs = 5000;

/** The served index, kept up to date with the database. */
export interface CurrentIndex extends Closable {
  readonly pool: SearchPool;
  /** The served view; undefined before the first index is loaded. */
  readonly served: SnapshotName | undefined;
  /** Checks for a new generation or revision, and swaps to it. */
  refresh(): Promise<void>;
}

export interface CurrentIndexOptions extends ViewSourceOptions {
  readonly pollIntervalMs: number;
  /** The id that protects the generation in use from deletion. */
  readonly nodeId: string | undefined;
  /** Finds what searches of an index need beyond it. A failure is left to them. */
  readonly prepare?: ((index: Pick<ProviderIndex, 'bytes' | 'times'>) => Promise<void>) | undefined;
}

/**
 * Follows the active generation by polling, since another process may activate one. Searches are answered
 * from the view that was served before until the new view is complete (D29). A view is an index, in memory or
 * read from its snapshot, with the changes since; without a recent enough index, one is built from the stored
 * blocks in its own thread.
 */
export function followDirectory(options: CurrentIndexOptions): CurrentIndex {
  const { storage, log } = options;
  const faults = createFaultLog('directory', log);
  const pool = createSearchPool({ threads: options.searchThreads, expectsLarge: options.ahead?.isLarge });
  const views = createViewSource(options, () => void poll());
  let served: SnapshotName | undefined;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let pauseMs = options.pollIntervalMs;

  async function catchUp(): Promise<void> {
    let state = await loadState(storage);
    if (served !== undefined && isSame(served, nameOf(state)) && !views.hasNewIndex) return;
    if (options.nodeId !== undefined) state = await claimGeneration(storage, options.nodeId);
    const name = nameOf(state);
    const startedAtMs = performance.now();
    const { base, changes, changeCount } = await views.obtain(state);
    const times = await readIndexTimes(storage.tables<DirectoryTables>(), base.name.loadId, state);
    const prepared = options.prepare?.({ bytes: base.bytes, times }).catch(() => {});
    // The old view answers until then; the first one is served at once.
    if (served !== undefined) await prepared;
    if (isClosed) return;
    await pool.swap(base.bytes, changes, times);
    if (isClosed) return;
    served = name;
    const ms = Math.round(performance.now() - startedAtMs);
    const { recordCount: records } = pool.current ?? { recordCount: 0 };
    log.info({ ...name, records, base: base.name, changes: changeCount, ms }, 'directory in service');
  }

  function refresh(): Promise<void> {
    running ??= catchUp().finally(() => {
      running = undefined;
    });
    return running;
  }

  /**
   * After a failure the pauses grow: a failed index build costs one minute of processor time. Following
   * constant changes takes no more than half of the time.
   */
  async function poll(): Promise<void> {
    const startedAtMs = performance.now();
    try {
      await refresh();
      faults.worked('bring the index up to date');
      const tookMs = Math.min(performance.now() - startedAtMs, longestBreakMs);
      pauseMs = Math.max(options.pollIntervalMs, tookMs);
    } catch (error) {
      if (isClosed) return;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      faults.failed('bring the index up to date', error);
    }
  }

  function schedule(): void {
    if (isClosed) return;
    timer = setTimeout(() => {
      void poll().finally(schedule);
    }, pauseMs);
    timer.unref();
  }
  schedule();

  return {
    pool,
    get served() {
      return served;
    },
    // A refresh in progress may have read the state before the caller's change, so a second one follows.
    refresh: async () => {
      if (running !== undefined) await running.catch(() => {});
      await refresh();
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      clearTimeout(timer);
      await views.close();
      await running?.catch(() => {});
      await pool.close();
    },
  };
}

function nameOf(state: StateRow): SnapshotName {
  return { loadId: state.active_load_id, revision: state.revision };
}
