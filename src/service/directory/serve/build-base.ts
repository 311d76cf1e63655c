import type { Storage } from '../../../platform/index.ts';
import { indexStored } from '../index-thread/index-stored.ts';
import type { IndexThread } from '../index-thread/start-index-thread.ts';
import type { SnapshotFiles } from '../store/snapshot-files.ts';
import { readChain } from '../store/state.ts';
import type { DirectoryTables, StateRow } from '../store/tables.ts';
import type { BaseIndex } from './choose-base.ts';

/** Builds the whole index from the stored blocks, and writes its snapshot. */
export async function buildBase(
  storage: Storage,
  thread: IndexThread,
  files: SnapshotFiles,
  { active_load_id: loadId, revision, secret }: StateRow,
): Promise<BaseIndex> {
  const name = { loadId, revision };
  const chain = loadId === null ? [] : await readChain(storage.tables<DirectoryTables>(), loadId);
  return { name, bytes: await indexStored(storage, thread, chain, secret, files.pathOf(name)) };
}
