import type { Storage } from '../../../platform/index.ts';
import type { IndexThread } from '../index-thread/start-index-thread.ts';
import { readGeneration } from '../store/generation.ts';
import { readProvisioned } from '../store/provisioned.ts';
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
  const db = storage.tables<DirectoryTables>();
  const chain = loadId === null ? [] : await readChain(db, loadId);
  const overlay = await readProvisioned(storage, secret);
  for await (const block of readGeneration(db, chain, overlay)) await thread.add(block);
  return { name, bytes: await thread.finish(files.pathOf(name)) };
}
