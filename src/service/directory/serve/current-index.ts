import { errorCode, errorText, type Closable, type Log } from '../../../core/index.ts';
import { createSearchPool, type SearchPool } from '../../../lib/provider-index/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { startIndexThread, type IndexThread } from '../index-thread/start-index-thread.ts';
import { readGeneration } from '../store/generation.ts';
import { readProvisioned } from '../store/provisioned.ts';
import { openSnapshotFiles, type SnapshotFiles, type SnapshotName } from '../store/snapshot-files.ts';
import { loadState, readChain } from '../store/state.ts';
import type { DirectoryTables, StateRow } from '../store/tables.ts';

/** Longest pause between attempts when the index cannot be brought up to date. */
const longestPauseMs = 60_000;

/** The index that answers, kept up with the database. */
export interface CurrentIndex extends Closable {
  readonly pool: SearchPool;
  /** What is served; undefined before the first index is there. */
  readonly served: SnapshotName | undefined;
  /** Looks whether another generation or revision is to be served, and if so loads or builds its index and swaps. */
  refresh(): Promise<void>;
}

export interface CurrentIndexOptions {
  readonly storage: Storage;
  readonly log: Log;
  readonly snapshotDir: string;
  readonly searchThreads: number;
  readonly pollIntervalMs: number;
}

/**
 * Follows the active generation by polling, since another process may activate one. Searches are answered from the
 * old index until the new one is complete (D29). A snapshot of the right name is read; else the index is built from
 * the stored blocks in a thread of its own and its snapshot is written.
 */
export function followDirectory(options: CurrentIndexOptions): CurrentIndex {
  const { storage, log } = options;
  const pool = createSearchPool({ threads: options.searchThreads });
  let served: SnapshotName | undefined;
  let running: Promise<void> | undefined;
  let thread: IndexThread | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let pauseMs = options.pollIntervalMs;

  async function catchUp(): Promise<void> {
    const state = await loadState(storage);
    if (served?.revision === state.revision && served.loadId === state.active_load_id) return;
    const name: SnapshotName = { loadId: state.active_load_id, revision: state.revision };
    const files = openSnapshotFiles(options.snapshotDir, state);
    thread = startIndexThread();
    try {
      const startedAtMs = performance.now();
      const { bytes, from } = await obtainIndex(storage, thread, files, name, state, log);
      if (isClosed) return;
      pool.swap(bytes);
      served = name;
      const records = bytes.layout.recordCount;
      log.info(
        { ...name, records, from, ms: Math.round(performance.now() - startedAtMs) },
        'directory index in service',
      );
      files.keepOnly([name]);
    } finally {
      await thread.close();
      thread = undefined;
    }
  }

  function refresh(): Promise<void> {
    running ??= catchUp().finally(() => {
      running = undefined;
    });
    return running;
  }

  /** After a failure the pauses grow: building an index in vain costs a minute of a processor. */
  async function look(): Promise<void> {
    try {
      await refresh();
      pauseMs = options.pollIntervalMs;
    } catch (error) {
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
      await thread?.close();
      await running?.catch(() => {});
      await pool.close();
    },
  };
}

async function obtainIndex(
  storage: Storage,
  thread: IndexThread,
  files: SnapshotFiles,
  name: SnapshotName,
  state: StateRow,
  log: Log,
): Promise<{ bytes: Awaited<ReturnType<IndexThread['load']>>; from: 'snapshot' | 'database' }> {
  const path = files.pathOf(name);
  try {
    return { bytes: await thread.load(path), from: 'snapshot' };
  } catch (error) {
    log.debug({ reason: errorText(error) }, 'no usable snapshot; the index is built from the database');
  }
  const chain = name.loadId === null ? [] : await readChain(storage.tables<DirectoryTables>(), name.loadId);
  const overlay = await readProvisioned(storage, state.secret);
  for await (const block of readGeneration(storage.tables<DirectoryTables>(), chain, overlay))
    await thread.add(block);
  return { bytes: await thread.finish(path), from: 'database' };
}
