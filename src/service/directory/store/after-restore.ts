import type { Storage } from '../../../platform/index.ts';
import { openSnapshotFiles } from './snapshot-files.ts';
import { loadState, lockState, updateState } from './state.ts';
import type { StateRow } from './tables.ts';

/** More records than came since any backup. Ids are 32-bit numbers: enough for two hundred restores. */
const skippedIds = 2 ** 24;

/**
 * For a database that an older copy was put back into, before anything is stored: the snapshots of the lost
 * time are removed, before the revisions count up to theirs, and ids that records got in it are not given to
 * others, since clients keep them.
 */
export async function continueAfterRestore(storage: Storage, snapshotDir: string): Promise<void> {
  await loadState(storage);
  const state = await storage.transaction(async (tx): Promise<StateRow> => {
    const locked = await lockState(storage, tx);
    await updateState(tx, { next_record_id: locked.next_record_id + skippedIds });
    return locked;
  });
  openSnapshotFiles(snapshotDir, state).removeAfter(state);
}
