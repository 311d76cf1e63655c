import type { Clock } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { findBucket, hasLookup, readBucket, type BlockLookup } from '../records/block-lookup.ts';
import { writeHeartbeat } from './loads.ts';
import type { DirectoryDb } from './state.ts';
import type { LoadRow } from './tables.ts';

/** Buckets stored at once, about half a megabyte. */
const bucketsPerTransaction = 32;

/**
 * Stores the lookup of a load. Throws DIRECTORY_LOAD_UNKNOWN if the load was cleared away in the meantime.
 */
export async function storeLookup(
  storage: Storage,
  clock: Clock,
  loadId: number,
  lookup: BlockLookup,
): Promise<void> {
  let rows: { load_id: number; bucket: number; places: Uint8Array }[] = [];
  let bucket = 0;
  const store = async (): Promise<void> => {
    if (rows.length === 0) return;
    const values = rows;
    rows = [];
    await storage.transaction(async (tx: DirectoryDb) => {
      await writeHeartbeat(tx, clock, loadId);
      await tx.insertInto('directory_lookup').values(values).execute();
    });
  };
  for (const places of lookup.pack()) {
    rows.push({ load_id: loadId, bucket: bucket++, places });
    if (rows.length === bucketsPerTransaction) await store();
  }
  await store();
}

/** The blocks of a load that may have entries with the hash; undefined if it has no lookup. */
export async function findBlocks(
  db: DirectoryDb,
  { id, block_count: blockCount }: Pick<LoadRow, 'id' | 'block_count'>,
  low: number,
): Promise<readonly number[] | undefined> {
  if (!hasLookup(blockCount))
    return blockCount <= 1 ? Array.from({ length: blockCount }, () => 0) : undefined;
  const row = await db
    .selectFrom('directory_lookup')
    .select('places')
    .where('load_id', '=', id)
    .where('bucket', '=', findBucket(low, blockCount))
    .executeTakeFirst();
  return row && readBucket(row.places, low);
}
