import path from 'node:path';
import type { Clock } from '../../../core/index.ts';
import { holdFile, type Storage } from '../../../platform/index.ts';
import { DirectoryError } from '../errors.ts';
import { removeBlocks } from './clear-loads.ts';
import type { DirectoryTables } from './tables.ts';

/** Dependencies for detecting abandoned loads. */
export interface LoadLockContext {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly snapshotDir: string;
}

/**
 * Runs a load while no other one runs: in this process, in another one of this machine, or on another node of
 * the database. The lock ends with the process, however that ends, so that a load without it was interrupted.
 * Throws DIRECTORY_LOAD_RUNNING.
 */
export async function loadAlone<R>(context: LoadLockContext, work: () => Promise<R>): Promise<R> {
  const done = await tryRunExclusive(context, work);
  if (done !== undefined) return done.result;
  throw new DirectoryError('DIRECTORY_LOAD_RUNNING', 'Another load is running');
}

/** Marks loads as failed whose process has ended, and removes their blocks. */
export async function failAbandonedLoads(context: LoadLockContext): Promise<void> {
  const { storage, clock } = context;
  const running = await storage
    .tables<DirectoryTables>()
    .selectFrom('directory_load')
    .select('id')
    .where('state', 'in', ['loading', 'merging'])
    .executeTakeFirst();
  if (running !== undefined) await tryRunExclusive(context, () => clearAbandonedLoads(storage, clock));
}

/** Under the lock every unfinished load was interrupted. */
export async function clearAbandonedLoads(storage: Storage, clock: Clock): Promise<void> {
  const db = storage.tables<DirectoryTables>();
  await db
    .updateTable('directory_load')
    .set({ state: 'failed', finished_at: clock.now().getTime(), progress: '' })
    .where('state', 'in', ['loading', 'merging'])
    .execute();
  const failed = await db.selectFrom('directory_load').select('id').where('state', '=', 'failed').execute();
  for (const { id } of failed) await removeBlocks(storage, id);
}

async function tryRunExclusive<R>(
  { storage, snapshotDir }: LoadLockContext,
  work: () => Promise<R>,
): Promise<{ readonly result: R } | undefined> {
  const alone = await storage.tryRunExclusive('directory-load', async () => {
    const held = holdFile(path.join(snapshotDir, 'load.lock'));
    if (held === undefined) return undefined;
    try {
      return { result: await work() };
    } finally {
      await held.close();
    }
  });
  return alone?.result;
}
