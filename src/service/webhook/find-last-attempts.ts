import type { Storage } from '../../platform/index.ts';
import type { WebhookTables } from './tables.ts';

/**
 * Attempts are stored when they end and have the time when they began: one that took long is not the newest.
 */
const watchedAttempts = 20;

/**
 * The ids of the newest attempts that are listed; empty if there is none. Changes with every failed attempt,
 * on whichever node.
 */
export async function findLastHookAttempts(storage: Storage): Promise<string> {
  const rows = await storage
    .tables<WebhookTables>()
    .selectFrom('webhook_attempt')
    .select('id')
    .orderBy('attempted_at', 'desc')
    .limit(watchedAttempts)
    .execute();
  return rows.map(({ id }) => id).join(' ');
}
