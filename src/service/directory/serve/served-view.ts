import { errorText, type Log } from '../../../core/index.ts';
import type { IndexChanges } from '../../../lib/provider-index/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { findChanges, type FoundChanges } from '../changes/find-changes.ts';
import { indexChanges } from '../changes/index-changes.ts';
import type { IndexThread } from '../index-thread/start-index-thread.ts';
import { seedOf } from '../store/provisioned.ts';
import type { SnapshotFiles } from '../store/snapshot-files.ts';
import { readChain } from '../store/state.ts';
import type { DirectoryTables, LoadRow, StateRow } from '../store/tables.ts';
import type { ReadAhead } from './read-ahead.ts';
import { chooseBase, type BaseIndex } from './choose-base.ts';

/** The searched view: an index and the changes since it was built. */
export interface ServedView {
  readonly base: BaseIndex;
  readonly changes: IndexChanges | undefined;
  /** Keys that the changes are about. */
  readonly changeCount: number;
}

export interface ViewRequest {
  readonly storage: Storage;
  readonly thread: IndexThread;
  readonly files: SnapshotFiles;
  readonly ahead: ReadAhead | undefined;
  readonly state: StateRow;
  readonly inMemory: readonly BaseIndex[];
  readonly unreadable: Set<string>;
  /** Largest number of changes that are served next to an index. */
  readonly maxChanges: number;
  readonly log: Log;
}

/**
 * The directory of a state without building its index: undefined if there is no index near enough, or if the
 * way from cannot be determined; a whole new index is needed then.
 */
export async function findView(request: ViewRequest): Promise<ServedView | undefined> {
  const { storage, state, log } = request;
  try {
    const db = storage.tables<DirectoryTables>();
    const chain = state.active_load_id === null ? [] : await readChain(db, state.active_load_id);
    const base = await chooseBase({ ...request, chain });
    return base === undefined ? undefined : await viewOn(base, chain, request);
  } catch (error) {
    log.warn({ reason: errorText(error) }, 'the changes of the directory could not be determined');
    return undefined;
  }
}

async function viewOn(
  base: BaseIndex,
  chain: readonly LoadRow[],
  { storage, thread, state, maxChanges }: ViewRequest,
): Promise<ServedView | undefined> {
  const db = storage.tables<DirectoryTables>();
  const found = await findChanges({
    db,
    base: base.name,
    chain,
    seed: seedOf(state.secret),
    limit: maxChanges,
    baseRecords: (ids) => thread.findRecords(base.bytes, ids),
  });
  if (found === undefined) return undefined;
  const changes = isNothing(found) ? undefined : await indexChanges(db, thread, base.bytes, found);
  return { base, changes, changeCount: found.count };
}

function isNothing({ hosted, places, removedIds }: FoundChanges): boolean {
  return hosted.length === 0 && places.length === 0 && removedIds.size === 0;
}
