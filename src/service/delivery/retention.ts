import { sql } from 'kysely';
import { tablesOf, type Storage } from '../../platform/index.ts';
import { deleteOldRows, isAttemptOnHold, type OldRows } from '../legal-hold/index.ts';
import { timePrefix } from './queue-items.ts';
import type { DeliveryTables } from './tables.ts';

/** Deletes attempts from before that time (SEC-08), in small transactions, on one node at a time. */
export async function deleteOldAttempts(storage: Storage, beforeMs: number): Promise<number> {
  const rows: OldRows = {
    name: 'delivery-attempts',
    table: 'delivery_attempt',
    // Ids begin with the time.
    order: ['id'],
    isOld: sql<boolean>`delivery_attempt.id < ${timePrefix(beforeMs)}`,
    isOnHold: isAttemptOnHold(sql.ref('delivery_attempt.message_id')),
  };
  const done = await storage.tryRunExclusive('delivery-attempts', () =>
    deleteOldRows(storage, rows, (tx, ids) =>
      tablesOf<DeliveryTables>(tx).deleteFrom('delivery_attempt').where('id', 'in', ids).execute(),
    ),
  );
  return done?.result ?? 0;
}
