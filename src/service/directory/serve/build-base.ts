import { errorText, type Log } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { addStored } from '../index-thread/add-stored.ts';
import type { IndexThread } from '../index-thread/start-index-thread.ts';
import type { SnapshotFiles } from '../store/snapshot-files.ts';
import { readChain } from '../store/state.ts';
import type { DirectoryTables, StateRow } from '../store/tables.ts';
import type { BaseIndex } from './choose-base.ts';

/**
 * Builds the whole index from the stored blocks, and writes its snapshot. An index that cannot be written, as
 * on a full disk, is served all the same; the next start builds it again.
 */
export async function buildBase(
  { storage, log }: { readonly storage: Storage; readonly log: Log },
  thread: IndexThread,
  files: SnapshotFiles,
  { active_load_id: loadId, revision, secret }: StateRow,
): Promise<BaseIndex> {
  const name = { loadId, revision };
  const chain = loadId === null ? [] : await readChain(storage.tables<DirectoryTables>(), loadId);
  await addStored(storage, thread, chain, secret);
  const bytes = await thread.finish();
  try {
    await thread.save(bytes, files.pathOf(name));
  } catch (error) {
    log.warn({ reason: errorText(error) }, 'the snapshot of the directory index could not be written');
  }
  return { name, bytes };
}
