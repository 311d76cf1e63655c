import { errorCode, errorText, type Closable, type Log } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { DirectoryError } from '../errors.ts';
import { startIndexThread, type IndexThread } from '../index-thread/start-index-thread.ts';
import { servedChangesFactor } from '../limits.ts';
import { openSnapshotFiles } from '../store/snapshot-files.ts';
import { loadState } from '../store/state.ts';
import type { StateRow } from '../store/tables.ts';
import { buildBase } from './build-base.ts';
import type { BaseIndex } from './choose-base.ts';
import { createRebuild } from './rebuild.ts';
import type { ReadAhead } from './read-ahead.ts';
import { findView, type ServedView } from './served-view.ts';

export interface ViewSourceOptions {
  readonly storage: Storage;
  readonly log: Log;
  readonly snapshotDir: string;
  /** Changes from which on a new index is built in the background. */
  readonly changesBeforeRebuild: number;
  /** 0 leaves snapshots to the calling thread, too: a command ends sooner than a thread starts. */
  readonly searchThreads: number;
  /** A snapshot that is being read already; closed with the first view. */
  readonly ahead?: ReadAhead | undefined;
}

/** Makes views of the directory, from indexes in memory or snapshots where possible. */
export interface ViewSource extends Closable {
  /** The view of a state. With many changes, a new index is begun in the background. */
  obtain(state: StateRow): Promise<ServedView>;
  /** True if an index has been built in the background of which no view has been made. */
  readonly hasNewIndex: boolean;
}

/** `onNewIndex` is called when an index has been built in the background. */
export function createViewSource(options: ViewSourceOptions, onNewIndex: () => void): ViewSource {
  const { storage, log, changesBeforeRebuild, ahead } = options;
  const threads = new Set<IndexThread>();
  const unreadable = new Set<string>();
  let base: BaseIndex | undefined;
  let isClosed = false;
  const rebuild = createRebuild(async () => build(await loadState(storage)), onNewIndex, onFailure);

  function onFailure(error: unknown): void {
    if (isClosed) return;
    const fields = { code: errorCode(error), reason: errorText(error) };
    log.error(fields, 'the directory index could not be rebuilt');
  }

  async function inThread<Result>(work: (thread: IndexThread) => Promise<Result>): Promise<Result> {
    if (isClosed) throw new DirectoryError('DIRECTORY_NOT_READY', 'The directory is closing');
    const thread = startIndexThread({ readsHere: options.searchThreads === 0 });
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
    return inThread((thread) => buildBase(options, thread, files, state));
  }

  function find(state: StateRow): Promise<ServedView | undefined> {
    const files = openSnapshotFiles(options.snapshotDir, state);
    // Without an index so far, the program has just started.
    if (base === undefined) files.removeAfter(state);
    const inMemory = [rebuild.take(), base].filter((one) => one !== undefined);
    const maxChanges = changesBeforeRebuild * servedChangesFactor;
    return inThread((thread) =>
      findView({ storage, thread, files, ahead, state, inMemory, unreadable, maxChanges, log }),
    );
  }

  async function findOrBuild(state: StateRow): Promise<ServedView> {
    const found = await find(state);
    // The snapshot of another database, or an older one, is not kept.
    await ahead?.close();
    if (found !== undefined) return found;
    // More changes than are served: the index that is being built already is nearer than one begun now.
    await rebuild.settled();
    const later = rebuild.isReady && !isClosed ? await find(state) : undefined;
    return later ?? { base: await build(state), changes: undefined, changeCount: 0 };
  }

  // A removal that fails now is retried later; it must not block the serving of a view.
  async function removeOutdated(state: StateRow, { name }: BaseIndex): Promise<void> {
    try {
      await openSnapshotFiles(options.snapshotDir, state).keepOnly(name);
    } catch (error) {
      log.warn({ reason: errorText(error) }, 'old snapshots of the directory could not be removed');
    }
  }

  return {
    async obtain(state) {
      const view = await findOrBuild(state);
      base = view.base;
      await removeOutdated(state, base);
      if (view.changeCount > changesBeforeRebuild) rebuild.begin();
      return view;
    },
    get hasNewIndex() {
      return rebuild.isReady;
    },
    async close() {
      isClosed = true;
      await ahead?.close();
      await Promise.all(Array.from(threads, (thread) => thread.close()));
      await rebuild.settled();
    },
  };
}
