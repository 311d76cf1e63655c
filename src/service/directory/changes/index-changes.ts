import type { IndexChanges, SharedIndexBytes } from '../../../lib/provider-index/index.ts';
import type { IndexThread } from '../index-thread/start-index-thread.ts';
import { completeTimes, timeOfLoad } from '../store/change-times.ts';
import { readBlock, type LiveBlock } from '../store/generation.ts';
import { findLoad, type DirectoryDb } from '../store/state.ts';
import type { EntryPlace } from './changed-keys.ts';
import type { FoundChanges } from './find-changes.ts';

/** Makes the two small indexes of the changes found, in the index thread; undefined if both are empty. */
export async function indexChanges(
  db: DirectoryDb,
  thread: IndexThread,
  base: SharedIndexBytes,
  { hosted, places, removedIds }: FoundChanges,
): Promise<IndexChanges | undefined> {
  for (const block of hosted) await thread.add(block);
  for await (const block of readPlaces(db, places)) await thread.add(block);
  const added = await thread.finish();
  const removed = await thread.copyRecords(base, removedIds);
  return added.layout.recordCount + removed.layout.recordCount === 0 ? undefined : { added, removed };
}

/** The blocks that hold wanted entries, with all others to be skipped. */
async function* readPlaces(db: DirectoryDb, places: readonly EntryPlace[]): AsyncGenerator<LiveBlock> {
  const times = new Map<number, number>();
  const byBlock = Map.groupBy(places, ({ loadId, sequence }) => `${loadId} ${sequence}`);
  for (const entries of byBlock.values()) {
    const { loadId, sequence } = entries[0] as EntryPlace;
    const block = await readBlock(db, loadId, sequence);
    const time = times.get(loadId) ?? (await timeOfStored(db, loadId));
    times.set(loadId, time);
    const skip = new Uint8Array(block.recordCount).fill(1);
    for (const { entry } of entries) skip[entry] = 0;
    yield { ...block, skip, changed: completeTimes(block.changed, block.recordCount, time) };
  }
}

async function timeOfStored(db: DirectoryDb, loadId: number): Promise<number> {
  const load = await findLoad(db, loadId);
  if (load === undefined) throw new Error(`directory load ${loadId} is missing`);
  return timeOfLoad(load);
}
