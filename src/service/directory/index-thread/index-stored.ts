import type { SharedIndexBytes } from '../../../lib/provider-index/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { readGeneration } from '../store/generation.ts';
import { readProvisioned } from '../store/provisioned.ts';
import type { DirectoryTables, LoadRow } from '../store/tables.ts';
import type { IndexThread } from './start-index-thread.ts';

/**
 * Builds the whole index of a generation (`chain` as from `readChain`) from the stored blocks, and writes its
 * snapshot if a path is given.
 */
export async function indexStored(
  storage: Storage,
  thread: IndexThread,
  chain: readonly LoadRow[],
  secret: Uint8Array,
  snapshotPath?: string,
): Promise<SharedIndexBytes> {
  const overlay = await readProvisioned(storage, secret);
  for await (const block of readGeneration(storage.tables<DirectoryTables>(), chain, overlay))
    await thread.add(block);
  return thread.finish(snapshotPath);
}
