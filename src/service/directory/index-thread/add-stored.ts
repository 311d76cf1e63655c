import type { Storage } from '../../../platform/index.ts';
import { readGeneration } from '../store/generation.ts';
import { readProvisioned } from '../store/provisioned.ts';
import type { DirectoryTables, LoadRow } from '../store/tables.ts';
import type { IndexThread } from './start-index-thread.ts';

/** Adds the stored blocks of a whole generation (`chain` as from `readChain`) to an index. */
export async function addStored(
  storage: Storage,
  thread: IndexThread,
  chain: readonly LoadRow[],
  secret: Uint8Array,
): Promise<void> {
  const overlay = await readProvisioned(storage, secret);
  for await (const block of readGeneration(storage.tables<DirectoryTables>(), chain, overlay))
    await thread.add(block);
}
