import type { Kysely } from 'kysely';
import { isEventType, type EventType } from './events.ts';
import { messageIdOf } from './store-notifications.ts';
import type { WebhookTables } from './tables.ts';

/** Largest number of dead letters per list. */
const maxListed = 200;
/** A dead letter: a notification whose attempts are exhausted. */
export interface DeadLetterNotification {
  readonly eventId: string;
  readonly eventType: EventType;
  /** For `inbound` hooks the name of the received message in the inbox. */
  readonly messageId: string;
  readonly attempts: number;
  readonly lastStatus: number | undefined;
  readonly lastError: string;
  readonly createdAt: Date;
  readonly settledAt: Date | undefined;
}

/** The dead letters of a webhook, oldest first. */
export async function listDeadLetters(
  db: Kysely<WebhookTables>,
  webhookId: string,
): Promise<readonly DeadLetterNotification[]> {
  const rows = await db
    .selectFrom('webhook_notification')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .where('state', '=', 'dead')
    .orderBy('created_at')
    .orderBy('id')
    .limit(maxListed)
    .execute();
  return rows.map((row) => ({
    eventId: row.id,
    eventType: isEventType(row.event_type) ? row.event_type : 'message.received',
    messageId: messageIdOf(row),
    attempts: row.attempts,
    lastStatus: row.last_status ?? undefined,
    lastError: row.last_error,
    createdAt: new Date(row.created_at),
    settledAt: row.settled_at === null ? undefined : new Date(row.settled_at),
  }));
}

/**
 * Makes dead letters due at `dueAt` (by `Storage.clock`), with the full number of attempts: the named ones, or all of the webhook.
 * Returns how many.
 */
export async function replayDeadLetters(
  db: Kysely<WebhookTables>,
  webhookId: string,
  eventIds: readonly string[] | undefined,
  dueAt: number,
): Promise<number> {
  const query = db
    .updateTable('webhook_notification')
    .set({ state: 'waiting', attempts: 0, next_attempt_at: dueAt, settled_at: null })
    .where('webhook_id', '=', webhookId)
    .where('state', '=', 'dead');
  const result = await (
    eventIds === undefined ? query : query.where('id', 'in', [...eventIds, ''])
  ).executeTakeFirst();
  return Number(result.numUpdatedRows);
}
