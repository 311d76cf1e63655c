import { changesBeforeRebuild, servedChangesFactor } from '../limits.ts';
import { countEntries } from '../store/generation.ts';
import type { BegunLoad } from '../store/loads.ts';
import { openSnapshotFiles } from '../store/snapshot-files.ts';
import type { DirectoryTables } from '../store/tables.ts';
import type { ImportContext } from './context.ts';
import type { LoadedRows } from './load-rows.ts';

/**
 * Whether an increment is small, and near enough to an index that exists, to be served as changes of it. Otherwise its
 * own index is built before it is activated, so that no server that starts has to do it.
 */
export async function isServedAsChanges(
  context: ImportContext,
  load: BegunLoad,
  { entryCount }: Pick<LoadedRows, 'entryCount'>,
): Promise<boolean> {
  const limit = context.changesBeforeRebuild ?? changesBeforeRebuild;
  if (entryCount > limit) return false;
  const older = await entriesSinceSnapshot(context, load);
  return older !== undefined && entryCount + older <= limit * servedChangesFactor;
}

/** Entries of the loads that the nearest snapshot does not have; undefined if there is no snapshot. */
async function entriesSinceSnapshot(
  { storage, snapshotDir }: ImportContext,
  load: BegunLoad,
): Promise<number | undefined> {
  const indexed = new Set(
    openSnapshotFiles(snapshotDir, load)
      .list()
      .map((name) => name.loadId),
  );
  const depth = load.chain.findIndex(({ id }) => indexed.has(id));
  return depth < 0 ? undefined : countEntries(storage.tables<DirectoryTables>(), load.chain.slice(0, depth));
}
