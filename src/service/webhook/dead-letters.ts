import type { Kysely } from 'kysely';
import { isEventType, type EventType } from './events.ts';
import type { WebhookTables } from './tables.ts';

/** Most dead notifications listed at once. */
const maxListed = 200;
/** How long settled notifications are kept for looking back. */
const keepDeliveredMs = 7 * 24 * 3_600_000;
const keepDeadMs = 90 * 24 * 3_600_000;

/** A notification whose attempts are used up. */
export interface DeadNotification {
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

/** The dead notifications of a hook, oldest first. */
export async function listDead(
  db: Kysely<WebhookTables>,
  webhookId: string,
): Promise<readonly DeadNotification[]> {
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
    messageId: row.subject.startsWith('urn:') ? row.subject : `urn:uuid:${row.subject}`,
    attempts: row.attempts,
    lastStatus: row.last_status ?? undefined,
    lastError: row.last_error,
    createdAt: new Date(row.created_at),
    settledAt: row.settled_at === null ? undefined : new Date(row.settled_at),
  }));
}

/** Makes dead notifications due again, with all attempts: the named ones, or all of the hook. Returns how many. */
export async function replayDead(
  db: Kysely<WebhookTables>,
  webhookId: string,
  eventIds: readonly string[] | undefined,
  nowMs: number,
): Promise<number> {
  const query = db
    .updateTable('webhook_notification')
    .set({ state: 'waiting', attempts: 0, next_attempt_at: nowMs, settled_at: null })
    .where('webhook_id', '=', webhookId)
    .where('state', '=', 'dead');
  const result = await (
    eventIds === undefined ? query : query.where('id', 'in', [...eventIds, ''])
  ).executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Deletes what was settled long ago. */
export async function purgeSettled(db: Kysely<WebhookTables>, nowMs: number): Promise<void> {
  for (const [state, keptMs] of [
    ['delivered', keepDeliveredMs],
    ['dead', keepDeadMs],
  ] as const)
    await db
      .deleteFrom('webhook_notification')
      .where('state', '=', state)
      .where('settled_at', '<', nowMs - keptMs)
      .execute();
}
