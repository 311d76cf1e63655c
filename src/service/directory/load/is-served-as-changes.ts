import { changesBeforeRebuild, servedChangesFactor } from '../limits.ts';
import { countEntries } from '../store/generation.ts';
import { openSnapshotFiles } from '../store/snapshot-files.ts';
import type { DirectoryTables, LoadRow } from '../store/tables.ts';
import type { IndexContext } from './index-context.ts';

/**
 * True if an increment of a chain (newest load first, without it) is small, and close enough to an existing
 * index, to be served as changes of it. Otherwise its own index is built before it is activated, so that no
 * server that starts has to do it.
 */
export async function isServedAsChanges(
  context: IndexContext,
  chain: readonly LoadRow[],
  secret: Uint8Array,
  entryCount: number,
): Promise<boolean> {
  const limit = context.changesBeforeRebuild ?? changesBeforeRebuild;
  if (entryCount > limit) return false;
  const older = await entriesSinceSnapshot(context, chain, secret);
  return older !== undefined && entryCount + older <= limit * servedChangesFactor;
}

/** Entries of the loads that the nearest snapshot does not have; undefined if there is no snapshot. */
async function entriesSinceSnapshot(
  { storage, snapshotDir }: IndexContext,
  chain: readonly LoadRow[],
  secret: Uint8Array,
): Promise<number | undefined> {
  const indexed = new Set(
    openSnapshotFiles(snapshotDir, { secret })
      .list()
      .map((name) => name.loadId),
  );
  const depth = chain.findIndex(({ id }) => indexed.has(id));
  return depth < 0 ? undefined : countEntries(storage.tables<DirectoryTables>(), chain.slice(0, depth));
}
