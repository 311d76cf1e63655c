import type { Storage } from '../../platform/index.ts';
import type { WebhookTables } from './tables.ts';

/** The id of the newest attempt that is listed; empty if there is none. Changes with every failed attempt, on whichever node. */
export async function findLastHookAttempt(storage: Storage): Promise<string> {
  const row = await storage
    .tables<WebhookTables>()
    .selectFrom('webhook_attempt')
    .select('id')
    .orderBy('attempted_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? '';
}
