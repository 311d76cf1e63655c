import { sql, type Kysely } from 'kysely';
import type { Storage } from '../../platform/index.ts';
import { changeSome, maxChangedAtOnce } from './change-some.ts';
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
    // A literal, because a partial index is not used for a parameter.
    .where('state', '=', sql.lit('dead'))
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
 * Makes dead letters due now, with the full number of attempts: the named ones, or all of the webhook.
 * `recordIn` is called in each transaction with the number that it replays, 0 only if there is none at all.
 * Returns how many.
 */
export async function replayDeadLetters(
  storage: Storage,
  webhookId: string,
  eventIds: readonly string[] | undefined,
  recordIn?: (tx: Kysely<WebhookTables>, count: number) => Promise<void>,
): Promise<number> {
  for (let total = 0; ;) {
    const count = await storage.transaction(async (tx: Kysely<WebhookTables>) => {
      const found = await replayOldest(storage, tx, webhookId, eventIds);
      if (found > 0 || total === 0) await recordIn?.(tx, found);
      return found;
    });
    total += count;
    if (count < maxChangedAtOnce) return total;
  }
}

function replayOldest(
  storage: Storage,
  tx: Kysely<WebhookTables>,
  webhookId: string,
  eventIds: readonly string[] | undefined,
): Promise<number> {
  const dead = tx
    .selectFrom('webhook_notification')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .where('state', '=', sql.lit('dead'))
    .$if(eventIds !== undefined, (query) => query.where('id', 'in', [...(eventIds ?? []), '']))
    .orderBy('created_at')
    .orderBy('id');
  return changeSome(storage, tx, dead, {
    state: 'waiting',
    attempts: 0,
    next_attempt_at: storage.clock.now().getTime(),
    settled_at: null,
  });
}
