import type { Storage } from '../../platform/index.ts';
import { timePrefix } from './queue-items.ts';
import type { DeliveryTables } from './tables.ts';

const batch = 1_000;

/** Deletes attempts from before that time (SEC-08), in small transactions, on one node at a time. */
export async function deleteOldAttempts(storage: Storage, beforeMs: number): Promise<number> {
  const done = await storage.tryRunExclusive('delivery-attempts', async () => {
    let deleted = 0;
    for (;;) {
      const count = await deleteSome(storage, beforeMs);
      deleted += count;
      if (count < batch) return deleted;
    }
  });
  return done?.result ?? 0;
}

async function deleteSome(storage: Storage, beforeMs: number): Promise<number> {
  const db = storage.tables<DeliveryTables>();
  // Ids begin with the time.
  const old = await db
    .selectFrom('delivery_attempt')
    .select('id')
    .where('id', '<', timePrefix(beforeMs))
    .orderBy('id')
    .limit(batch)
    .execute();
  if (old.length === 0) return 0;
  const ids = old.map(({ id }) => id);
  await db.deleteFrom('delivery_attempt').where('id', 'in', ids).execute();
  return ids.length;
}
