import { addStored } from '../index-thread/add-stored.ts';
import { startIndexThread } from '../index-thread/start-index-thread.ts';
import { openSnapshotFiles } from '../store/snapshot-files.ts';
import type { ToServe } from '../store/sources.ts';
import type { LoadRow } from '../store/tables.ts';
import type { IndexContext } from './index-context.ts';
import { isServedAsChanges } from './is-served-as-changes.ts';

/** The state of the database from which an index is made. */
export interface IndexedState {
  readonly revision: number;
  readonly secret: Uint8Array;
}

/**
 * Indexes the data about to be served. After a small change there is nothing to do: the serving process adds
 * it to the index of an older load.
 */
export async function indexServed(
  context: IndexContext,
  { chain, entryCount }: Pick<ToServe, 'chain' | 'entryCount'>,
  state: IndexedState,
): Promise<void> {
  if (chain.length > 1 && (await isServedAsChanges(context, chain.slice(1), state.secret, entryCount)))
    return;
  await indexWhole(context, chain, state);
}

export async function indexWhole(
  context: IndexContext,
  chain: readonly LoadRow[],
  state: IndexedState,
): Promise<void> {
  const [newest] = chain;
  if (newest === undefined) return;
  const thread = startIndexThread();
  try {
    await addStored(context.storage, thread, chain, state.secret);
    await thread.write(snapshotPathOf(context, newest.id, state));
  } finally {
    await thread.close();
  }
}

/**
 * The snapshot bears the revision that the load began with: hosted records were read then or later, and the
 * load may be activated after more of them have changed.
 */
export function snapshotPathOf({ snapshotDir }: IndexContext, loadId: number, state: IndexedState): string {
  return openSnapshotFiles(snapshotDir, state).pathOf({ loadId, revision: state.revision });
}
