import type { Kysely, SelectQueryBuilder } from 'kysely';
import type { Storage } from '../../platform/index.ts';
import type { NotificationRow, WebhookTables } from './tables.ts';

/**
 * Notifications that one transaction changes: some tens of milliseconds. All of a long outage in one
 * transaction would stop every other writer for seconds.
 */
export const maxChangedAtOnce = 2000;

/**
 * Changes the first {@link maxChangedAtOnce} of a selection. Those that another transaction has just taken
 * are skipped, and do not count as its end. Returns how many.
 */
export async function changeSome(
  storage: Storage,
  tx: Kysely<WebhookTables>,
  selection: SelectQueryBuilder<WebhookTables, 'webhook_notification', { id: string }>,
  changes: Partial<NotificationRow>,
): Promise<number> {
  const some = selection.limit(maxChangedAtOnce);
  const result = await tx
    .with('some', () => storage.forUpdate(some, { skipLocked: true }))
    .updateTable('webhook_notification')
    .set(changes)
    .where('id', 'in', (eb) => eb.selectFrom('some').select('some.id'))
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}
