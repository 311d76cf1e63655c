import type { Storage } from '../../../platform/index.ts';
import { keptGenerations, keptRemovals } from '../limits.ts';
import { findClaimedLoads } from './claim-generation.ts';
import { findLoad, lockState, readChain, updateState, type DirectoryDb } from './state.ts';
import { listSources } from './sources.ts';
import type { DirectoryTables, LoadRow } from './tables.ts';

/** Removes the generations that no node serves and that cannot be rolled back to; their reports stay. */
export async function retireGenerations(storage: Storage): Promise<void> {
  const db = storage.tables<DirectoryTables>();
  await storage.transaction((tx: DirectoryDb) => markRetired(storage, tx));
  const retired = await db.selectFrom('directory_load').select('id').where('state', '=', 'retired').execute();
  for (const { id } of retired) await removeBlocks(storage, id);
  await deleteLookups(db);
  await deleteOldLoads(db);
}

/** Under the lock of the state: a rollback cannot make a generation active that is being retired. */
async function markRetired(storage: Storage, tx: DirectoryDb): Promise<void> {
  const state = await lockState(storage, tx);
  const kept = new Set(await findClaimedLoads(storage, tx));
  if (state.active_load_id !== null) await keepGenerations(tx, state.active_load_id, 0, kept);
  for (const { active_load_id: activeId } of await listSources(tx))
    if (activeId !== null) await keepGenerations(tx, activeId, keptGenerations, kept);
  const ready = await tx.selectFrom('directory_load').select('id').where('state', '=', 'ready').execute();
  const retired = ready.map(({ id }) => id).filter((id) => !kept.has(id));
  if (retired.length === 0) return;
  await tx.updateTable('directory_load').set({ state: 'retired' }).where('id', 'in', retired).execute();
}

/** A generation and some of those that were active before it. */
async function keepGenerations(
  tx: DirectoryDb,
  loadId: number,
  earlier: number,
  kept: Set<number>,
): Promise<void> {
  for (let id: number | null = loadId, left = earlier; id !== null && left >= 0; left--) {
    const load: LoadRow | undefined = await findLoad(tx, id);
    if (load?.state !== 'ready') break;
    for (const part of await readChain(tx, id)) kept.add(part.id);
    id = load.previous_id;
  }
}

/** Deletes the oldest removal tombstones of hosted addresses; indexes older than that must be rebuilt. */
export function deleteRemovals(storage: Storage, kept = keptRemovals): Promise<void> {
  return storage.transaction(async (tx: DirectoryDb) => {
    await lockState(storage, tx);
    const removals = tx.selectFrom('directory_provisioned').select('revision').where('record', '=', '');
    const newest = await removals.orderBy('revision', 'desc').offset(kept).limit(1).executeTakeFirst();
    if (newest === undefined) return;
    await tx
      .deleteFrom('directory_provisioned')
      .where('record', '=', '')
      .where('revision', '<=', newest.revision)
      .execute();
    await updateState(tx, { recorded_since: newest.revision });
  });
}

/** Rows of loads, with their reports, that stay when their blocks are gone. */
const keptLoads = 100;

async function deleteOldLoads(db: DirectoryDb): Promise<void> {
  const [newest] = await db
    .selectFrom('directory_load')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .execute();
  await db
    .deleteFrom('directory_load')
    .where('id', '<=', (newest?.id ?? 0) - keptLoads)
    .where('state', 'in', ['failed', 'retired'])
    .execute();
}

/** Deletes the lookups of loads whose blocks are gone or going. */
async function deleteLookups(db: DirectoryDb): Promise<void> {
  await db
    .deleteFrom('directory_lookup')
    .where('load_id', 'not in', (loads) =>
      loads.selectFrom('directory_load').select('id').where('state', 'not in', ['failed', 'retired']),
    )
    .execute();
}

/** In portions, so that the write lock is never held for long. */
export async function removeBlocks(storage: Storage, loadId: number): Promise<void> {
  const db = storage.tables<DirectoryTables>();
  for (;;) {
    const rows = await db
      .selectFrom('directory_block')
      .select('sequence')
      .where('load_id', '=', loadId)
      .limit(blocksPerDeletion)
      .execute();
    if (rows.length === 0) return;
    await db
      .deleteFrom('directory_block')
      .where('load_id', '=', loadId)
      .where(
        'sequence',
        'in',
        rows.map((row) => row.sequence),
      )
      .execute();
  }
}

const blocksPerDeletion = 32;
