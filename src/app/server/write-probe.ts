import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';

/** Waiting this long for the write lock is normal while a directory load is activated. */
const patienceMs = 1_000;
/** After this the lock will not come. */
const stuckMs = 60_000;

interface MigrationTable {
  schema_migration: { name: string };
}

/**
 * Resolves when the database could be written. Rejects with the reason, for example a full or read-only disk. A row is written as it is:
 * a statement that changes none would never reach the disk.
 */
export async function checkWritable(storage: Storage): Promise<void> {
  await storage.transaction<MigrationTable, unknown>((tx) =>
    tx
      .updateTable('schema_migration')
      .set((eb) => ({ name: eb.ref('name') }))
      .where('name', '=', (eb) =>
        eb.selectFrom('schema_migration').select((all) => all.fn.max('name').as('name')),
      )
      .execute(),
  );
}

/**
 * A readiness check that the database is writable. A write that merely waits its turn is not a failure; one that waits for a minute is.
 * At most one write is in progress, however often the check is called.
 */
export function createWriteProbe(write: () => Promise<void>, clock: Clock): () => Promise<void> {
  let running: { readonly since: number; readonly done: Promise<void> } | undefined;

  function start(): { readonly since: number; readonly done: Promise<void> } {
    const done = write().finally(() => {
      running = undefined;
    });
    // A waiting check gets the failure; without one, the next check finds it again.
    done.catch(() => {});
    return { since: clock.now().getTime(), done };
  }

  return async () => {
    running ??= start();
    const { since, done } = running;
    const stopWaiting = new AbortController();
    try {
      await Promise.race([done, wait(patienceMs, undefined, { signal: stopWaiting.signal })]);
    } finally {
      stopWaiting.abort();
    }
    if (running?.done === done && clock.now().getTime() - since > stuckMs)
      throw new Error('the database could not be written for a minute');
  };
}
