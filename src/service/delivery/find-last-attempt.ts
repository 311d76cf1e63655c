import type { Storage } from '../../platform/index.ts';
import type { DeliveryTables } from './tables.ts';

/** The id of the newest attempt; empty if there is none. Changes with every attempt, on whichever node. */
export async function findLastAttempt(storage: Storage): Promise<string> {
  const row = await storage
    .tables<DeliveryTables>()
    .selectFrom('delivery_attempt')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? '';
}
