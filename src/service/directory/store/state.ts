import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Storage } from '../../../platform/index.ts';
import type { DirectoryTables, LoadRow, StateRow } from './tables.ts';

export type DirectoryDb = Kysely<DirectoryTables>;

const stateId = 1;

/** The one state row; made at the first call, in its own transaction. */
export async function loadState(storage: Storage): Promise<StateRow> {
  const found = await findState(storage.tables<DirectoryTables>());
  if (found !== undefined) return found;
  return storage.transaction(async (tx: DirectoryDb) => {
    await tx
      .insertInto('directory_state')
      .values({
        id: stateId,
        active_load_id: null,
        revision: 0,
        next_load_id: 1,
        next_record_id: 1,
        secret: randomBytes(32),
        recorded_since: 0,
        last_change_at: 0,
        earliest_change_at: 0,
        earliest_open_change_at: 0,
      })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
    return getState(tx);
  });
}

function findState(db: DirectoryDb): Promise<StateRow | undefined> {
  return db.selectFrom('directory_state').selectAll().where('id', '=', stateId).executeTakeFirst();
}

export function getState(db: DirectoryDb): Promise<StateRow> {
  return db.selectFrom('directory_state').selectAll().where('id', '=', stateId).executeTakeFirstOrThrow();
}

/**
 * The state, locked until the transaction ends, for a caller that changes it. The first lock of each
 * transaction that takes it (Decision 0022).
 */
export function lockState(storage: Storage, tx: DirectoryDb): Promise<StateRow> {
  return storage
    .forUpdate(tx.selectFrom('directory_state').selectAll().where('id', '=', stateId))
    .executeTakeFirstOrThrow();
}

export async function updateState(tx: DirectoryDb, change: Partial<Omit<StateRow, 'id'>>): Promise<void> {
  await tx.updateTable('directory_state').set(change).where('id', '=', stateId).execute();
}

export function findLoad(db: DirectoryDb, id: number): Promise<LoadRow | undefined> {
  return db.selectFrom('directory_load').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The load that was active before the given one, if it is known. */
export async function findPreviousLoad(
  db: DirectoryDb,
  load: LoadRow | undefined,
): Promise<LoadRow | undefined> {
  const id = load?.previous_id ?? null;
  return id === null ? undefined : findLoad(db, id);
}

/** The loads that make up a generation, newest first, down to one that holds every record itself. */
export async function readChain(db: DirectoryDb, loadId: number): Promise<LoadRow[]> {
  const chain: LoadRow[] = [];
  for (let id: number | null = loadId; id !== null;) {
    const load: LoadRow | undefined = await findLoad(db, id);
    if (load === undefined) throw new Error(`generation ${loadId} lacks its load ${id}`);
    chain.push(load);
    id = load.parent_id;
  }
  return chain;
}
