import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { tablesOf, type AnyTransaction, type Storage } from '../../platform/index.ts';
import { buildEventPayload, type EventType, type MessageEvent } from './events.ts';
import { retryDelay } from './retry-schedule.ts';
import type { NotificationRow, WebhookRow, WebhookTables } from './tables.ts';

/** A due notification that this node holds under a lease. */
export interface ClaimedNotification {
  readonly row: NotificationRow;
  readonly hook: WebhookRow;
}

/** What one attempt led to. `gone` is a 410, which ends the whole subscription (HOOK-01). */
export type AttemptResult =
  | { readonly outcome: 'delivered'; readonly httpStatus: number | null }
  | { readonly outcome: 'failed' | 'gone'; readonly httpStatus: number | null; readonly error: string };

/** What storing a result meant for the notification and its hook. */
export interface Settled {
  readonly state: NotificationRow['state'];
  readonly disabledReason: 'gone' | 'failing' | undefined;
}

export interface NotificationParts {
  readonly storage: Storage;
  readonly clock: Clock;
  /** Owner of the leases. */
  readonly nodeId: string;
  readonly leaseMs: number;
  /** A hook that has only failed for this long is switched off. */
  readonly disableAfterMs: number;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Stores one notification for each enabled status hook of the client that wants this event, in the caller's transaction. */
export async function insertEvent(tx: AnyTransaction, event: MessageEvent, nowMs: number): Promise<void> {
  const db = tablesOf<WebhookTables>(tx);
  for (const hook of await listTakers(db, event.clientId, 'status', event.eventType)) {
    const id = randomUUID();
    const payload = JSON.stringify(buildEventPayload(id, event));
    await db
      .insertInto('webhook_notification')
      .values(newNotification(id, hook, event.messageId, payload, event.eventType, nowMs))
      .execute();
  }
}

/** The same for a received message, whose whole content goes to the client's inbound hooks. `subject` names the inbox copy. */
export async function insertInbound(
  tx: AnyTransaction,
  clientId: string,
  subject: string,
  nowMs: number,
): Promise<void> {
  const db = tablesOf<WebhookTables>(tx);
  for (const hook of await listTakers(db, clientId, 'inbound', 'message.received'))
    await db
      .insertInto('webhook_notification')
      .values(newNotification(randomUUID(), hook, subject, '', 'message.received', nowMs))
      .execute();
}

async function listTakers(
  db: Kysely<WebhookTables>,
  clientId: string,
  kind: WebhookRow['kind'],
  eventType: EventType,
): Promise<readonly WebhookRow[]> {
  const hooks = await db
    .selectFrom('webhook')
    .selectAll()
    .where('client_id', '=', clientId)
    .where('kind', '=', kind)
    .where('is_enabled', '=', 1)
    .execute();
  return hooks.filter((hook) => hook.event_types.split(',').includes(eventType));
}

function newNotification(
  id: string,
  hook: WebhookRow,
  subject: string,
  payload: string,
  eventType: EventType,
  nowMs: number,
): NotificationRow {
  return {
    id,
    webhook_id: hook.id,
    event_type: eventType,
    subject,
    payload,
    state: 'waiting',
    attempts: 0,
    next_attempt_at: nowMs,
    lease_owner: null,
    lease_until: null,
    last_status: null,
    last_error: '',
    created_at: nowMs,
    settled_at: null,
  };
}

/** Ids of clients with an enabled hook that wants to hear of received messages. */
export async function listReceivers(db: Kysely<WebhookTables>): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('webhook')
    .select('client_id')
    .distinct()
    .where('is_enabled', '=', 1)
    .where('event_types', 'like', '%message.received%')
    .execute();
  return rows.map((row) => row.client_id);
}

/**
 * Takes due notifications under a lease. `health` chooses between hooks that work and hooks that fail, so that a dead
 * target, which costs the full timeout each time, never holds up the others.
 */
export async function claimNotifications(
  parts: NotificationParts,
  health: 'working' | 'failing',
  limit: number,
): Promise<readonly ClaimedNotification[]> {
  const nowMs = parts.clock.now().getTime();
  const due = await dueQuery(parts.storage.tables<WebhookTables>(), nowMs, health)
    .select('n.id')
    .limit(1)
    .execute();
  if (due.length === 0) return [];
  return parts.storage.transaction(async (tx: Kysely<WebhookTables>) => {
    const query = dueQuery(tx, nowMs, health).selectAll('n').orderBy('n.next_attempt_at').limit(limit);
    const rows = await parts.storage.forUpdate(query, { skipLocked: true }).execute();
    const lease = { lease_owner: parts.nodeId, lease_until: nowMs + parts.leaseMs };
    const ids = rows.map((row) => row.id);
    if (ids.length === 0) return [];
    await tx.updateTable('webhook_notification').set(lease).where('id', 'in', ids).execute();
    const hooks = await tx
      .selectFrom('webhook')
      .selectAll()
      .where(
        'id',
        'in',
        rows.map((row) => row.webhook_id),
      )
      .execute();
    const byId = new Map(hooks.map((hook) => [hook.id, hook]));
    return rows.flatMap((row) => {
      const hook = byId.get(row.webhook_id);
      return hook === undefined ? [] : [{ row: { ...row, ...lease }, hook }];
    });
  });
}

function dueQuery(db: Kysely<WebhookTables>, nowMs: number, health: 'working' | 'failing') {
  return db
    .selectFrom('webhook_notification as n')
    .innerJoin('webhook as w', 'w.id', 'n.webhook_id')
    .where('n.state', '=', 'waiting')
    .where('n.next_attempt_at', '<=', nowMs)
    .where((eb) => eb.or([eb('n.lease_until', 'is', null), eb('n.lease_until', '<=', nowMs)]))
    .where('w.is_enabled', '=', 1)
    .where('w.failing_since', health === 'working' ? 'is' : 'is not', null);
}

/** Stores the result of one attempt: settled, or due again later; and what it means for the hook. */
export async function settleNotification(
  parts: NotificationParts,
  tx: Kysely<WebhookTables>,
  claimed: ClaimedNotification,
  result: AttemptResult,
): Promise<Settled> {
  const nowMs = parts.clock.now().getTime();
  const attempts = claimed.row.attempts + 1;
  const delayMs = retryDelay(attempts, parts.random());
  const state =
    result.outcome === 'delivered'
      ? 'delivered'
      : delayMs === undefined || result.outcome === 'gone'
        ? 'dead'
        : 'waiting';
  await tx
    .updateTable('webhook_notification')
    .set({
      state,
      attempts,
      next_attempt_at: nowMs + (delayMs ?? 0),
      lease_owner: null,
      lease_until: null,
      last_status: result.httpStatus,
      last_error: result.outcome === 'delivered' ? '' : result.error,
      settled_at: state === 'waiting' ? null : nowMs,
    })
    .where('id', '=', claimed.row.id)
    .where('lease_owner', '=', parts.nodeId)
    .execute();
  return { state, disabledReason: await judgeHook(tx, parts, claimed.hook.id, result.outcome) };
}

async function judgeHook(
  tx: Kysely<WebhookTables>,
  { clock, disableAfterMs }: NotificationParts,
  id: string,
  outcome: AttemptResult['outcome'],
): Promise<Settled['disabledReason']> {
  const nowMs = clock.now().getTime();
  const hook = await tx.selectFrom('webhook').selectAll().where('id', '=', id).executeTakeFirst();
  if (hook === undefined) return undefined;
  if (outcome === 'delivered') {
    if (hook.failing_since !== null)
      await tx.updateTable('webhook').set({ failing_since: null }).where('id', '=', id).execute();
    return undefined;
  }
  const since = hook.failing_since ?? nowMs;
  const reason = outcome === 'gone' ? 'gone' : nowMs - since >= disableAfterMs ? 'failing' : undefined;
  await tx
    .updateTable('webhook')
    .set({
      failing_since: since,
      ...(reason === undefined ? {} : { is_enabled: 0, disabled_reason: reason }),
    })
    .where('id', '=', id)
    .execute();
  return reason;
}

/** Gives back the leases that this node held before it was restarted. */
export async function releaseOwnLeases(parts: NotificationParts): Promise<void> {
  await parts.storage
    .tables<WebhookTables>()
    .updateTable('webhook_notification')
    .set({ lease_owner: null, lease_until: null })
    .where('lease_owner', '=', parts.nodeId)
    .execute();
}
