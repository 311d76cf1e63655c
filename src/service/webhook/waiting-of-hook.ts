import { sql, type Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { requireLease, type Storage } from '../../platform/index.ts';
import type { NotificationItem } from './store-notifications.ts';
import type { WebhookTables } from './tables.ts';

export interface HoldDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
}

/**
 * Holds the notifications of a disabled webhook: the one in progress and all without a lease. The webhook is read under its lock
 * after its notifications were changed, so that none stays held if it is enabled meanwhile.
 */
export async function holdWaiting(
  { storage, clock }: HoldDependencies,
  item: NotificationItem,
): Promise<void> {
  await storage.transaction(async (tx: Kysely<WebhookTables>) => {
    const held = await tx
      .updateTable('webhook_notification')
      .set({ state: 'held', lease_token: null, lease_until: 0, settled_at: clock.now().getTime() })
      .where('webhook_id', '=', item.party)
      .where('state', '=', sql.lit('waiting'))
      .where((eb) =>
        eb.or([
          eb('lease_until', '<=', storage.clock.now().getTime()),
          eb('id', '=', item.id).and('lease_token', '=', item.token),
        ]),
      )
      .returning('id')
      .execute();
    requireLease(held.filter(({ id }) => id === item.id).length, item.id);
    const query = tx.selectFrom('webhook').select('is_enabled').where('id', '=', item.party);
    const hook = await storage.forUpdate(query).executeTakeFirst();
    if (hook?.is_enabled === 1) await releaseHeld(tx, item.party, storage.clock.now().getTime());
  });
}

/** Makes the held notifications of a webhook due. Call it after the webhook's row was locked. */
export async function releaseHeld(
  tx: Kysely<WebhookTables>,
  webhookId: string,
  dueAt: number,
): Promise<void> {
  await tx
    .updateTable('webhook_notification')
    .set({ state: 'waiting', next_attempt_at: dueAt, settled_at: null })
    .where('webhook_id', '=', webhookId)
    .where('state', '=', 'held')
    .execute();
}

/** Makes the notifications of a webhook that wait for their next attempt due now; those with a lease stay as they are. */
export async function retryWaiting(
  db: Kysely<WebhookTables>,
  webhookId: string,
  dueAt: number,
): Promise<void> {
  await db
    .updateTable('webhook_notification')
    .set({ next_attempt_at: dueAt })
    .where('webhook_id', '=', webhookId)
    .where('state', '=', sql.lit('waiting'))
    .where('lease_until', '<=', dueAt)
    .where('next_attempt_at', '>', dueAt)
    .execute();
}

/** Deletes the notifications of a webhook that was removed. */
export async function removeOrphan(storage: Storage, item: NotificationItem): Promise<void> {
  const result = await storage
    .tables<WebhookTables>()
    .deleteFrom('webhook_notification')
    .where('id', '=', item.id)
    .where('lease_token', '=', item.token)
    .executeTakeFirst();
  requireLease(result.numDeletedRows, item.id);
}
