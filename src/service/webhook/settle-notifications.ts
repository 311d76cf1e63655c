import { randomUUID } from 'node:crypto';
import { setTimeout as gather } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { prepareInsert, prepareRows, requireLease, type Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import type { Attempt, Settled } from './call.ts';
import type { StoreHookHealth } from './hook-health.ts';
import { retryDelay } from './retry-schedule.ts';
import { messageIdOf, type NotificationItem } from './store-notifications.ts';
import type { AttemptRow, NotificationRow, WebhookTables } from './tables.ts';

export interface SettleDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly storeHealth: StoreHookHealth;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Attempts stored by one transaction at most. */
const maxTogether = 32;
const gatherMs = 5;
/** Webhooks are locked after messages, whose transactions share commits in the order of their Message-IDs. */
const afterMessages = '\uffff';

interface Waiting {
  readonly attempt: Attempt;
  resolve(settled: Settled): void;
  reject(error: unknown): void;
}

/**
 * Stores the results of attempts: a notification that is delivered or unneeded leaves the queue, another one
 * is due again later, or dead. Results that come within some milliseconds, or while a transaction is running,
 * share one. Rejects with PLATFORM_LEASE_LOST, and stores nothing, for an attempt whose lease another node
 * has claimed.
 */
export function createSettler(deps: SettleDependencies): (attempt: Attempt) => Promise<Settled> {
  const { storage } = deps;
  const statements = createStatements(storage);
  const waiting: Waiting[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    // Nobody waits for the result of a notification, so those that come soon after share its transaction.
    await gather(gatherMs);
    while (waiting.length > 0) await settleTogether(waiting.splice(0, maxTogether));
    isRunning = false;
  }

  async function settleTogether(some: readonly Waiting[]): Promise<void> {
    try {
      const attempts = some.map(({ attempt }) => attempt);
      const settled = await storage.transaction(
        (tx: Kysely<WebhookTables>) => storeResults(deps, statements, tx, attempts),
        { shareBy: afterMessages },
      );
      for (const { attempt, resolve, reject } of some) {
        const found = settled.get(attempt);
        if (found !== undefined) resolve(found);
        else reject(leaseLost(attempt.item.id));
      }
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }

  return (attempt) => {
    const { promise, resolve, reject } = Promise.withResolvers<Settled>();
    waiting.push({ attempt, resolve, reject });
    if (!isRunning) void run();
    return promise;
  };
}

function leaseLost(id: string): unknown {
  try {
    return requireLease(0, id);
  } catch (error) {
    return error;
  }
}

type Held = Pick<NotificationItem, 'id' | 'token'>;
type Outcome = Pick<
  NotificationRow,
  'state' | 'attempts' | 'next_attempt_at' | 'last_status' | 'last_error' | 'settled_at'
>;

type Statements = ReturnType<typeof createStatements>;

function createStatements(storage: Storage) {
  return {
    removeDone: prepareRows<WebhookTables, Held, { id: string }>(storage, (db, rows) =>
      db
        .deleteFrom('webhook_notification')
        .where(({ eb, refTuple, tuple }) =>
          eb(
            refTuple('id', 'lease_token'),
            'in',
            rows.map(({ id, token }) => tuple(id, token)),
          ),
        )
        .returning('id'),
    ),
    postpone: storage.prepare<WebhookTables, Held & Outcome>((db, values) =>
      db
        .updateTable('webhook_notification')
        .set({
          state: values.state,
          attempts: values.attempts,
          next_attempt_at: values.next_attempt_at,
          lease_token: null,
          lease_until: 0,
          last_status: values.last_status,
          last_error: values.last_error,
          settled_at: values.settled_at,
        })
        .where('id', '=', values.id)
        .where('lease_token', '=', values.token),
    ),
    insertAttempts: prepareInsert<WebhookTables, 'webhook_attempt'>(storage, 'webhook_attempt'),
  };
}

/**
 * Queue rows first, then webhooks, then the audit chain: the lock order of Decision 0023. Notifications whose
 * lease was lost are omitted.
 */
async function storeResults(
  deps: SettleDependencies,
  statements: Statements,
  tx: Kysely<WebhookTables>,
  attempts: readonly Attempt[],
): Promise<ReadonlyMap<Attempt, Settled>> {
  const states = await storeOutcomes(deps, statements, tx, attempts);
  const kept = [...states.keys()];
  const stored = kept.filter(({ item, result }) =>
    result.outcome === 'delivered' ? item.row.attempts > 0 : result.outcome !== 'unneeded',
  );
  if (stored.length > 0) statements.insertAttempts.queue(tx, stored.map(toAttemptRow));
  const disabled = await deps.storeHealth(tx, kept);
  const settled = new Map<Attempt, Settled>();
  for (const [attempt, state] of states) {
    const result = { state, disabledReason: disabled.get(attempt) };
    settled.set(attempt, result);
    await auditAttempt(deps.audit, tx, attempt, result);
  }
  return settled;
}

async function storeOutcomes(
  { storage, clock, random }: SettleDependencies,
  statements: Statements,
  tx: Kysely<WebhookTables>,
  attempts: readonly Attempt[],
): Promise<Map<Attempt, Settled['state']>> {
  const states = new Map<Attempt, Settled['state']>();
  const held = attempts.flatMap(({ item: { id, token }, result }) =>
    'error' in result ? [] : [{ id, token }],
  );
  const removed = new Set(
    held.length === 0 ? [] : (await statements.removeDone.all(tx, held)).map(({ id }) => id),
  );
  for (const attempt of attempts) {
    const { item, result } = attempt;
    if (!('error' in result)) {
      if (removed.has(item.id)) states.set(attempt, result.outcome);
      continue;
    }
    const tried = item.row.attempts + 1;
    const delayMs = result.outcome === 'gone' ? undefined : retryDelay(tried, random(), result.retryAfterMs);
    const state = delayMs === undefined ? 'dead' : 'waiting';
    const changed = await statements.postpone.run(tx, {
      id: item.id,
      token: item.token,
      state,
      attempts: tried,
      next_attempt_at: storage.clock.now().getTime() + (delayMs ?? 0),
      last_status: result.httpStatus,
      last_error: result.error,
      settled_at: state === 'dead' ? clock.now().getTime() : null,
    });
    if (changed > 0) states.set(attempt, state);
  }
  return states;
}

function toAttemptRow({ item, result, startedAt, durationMs }: Attempt): AttemptRow {
  return {
    id: randomUUID(),
    webhook_id: item.party,
    notification_id: item.id,
    message_id: messageIdOf(item.row),
    attempt: item.row.attempts + 1,
    http_status: result.httpStatus,
    error: 'error' in result ? result.error : '',
    answer: result.answer ?? '',
    attempted_at: startedAt.getTime(),
    duration_ms: Math.round(durationMs),
  };
}

async function auditAttempt(
  audit: Audit,
  tx: Kysely<WebhookTables>,
  { item, hook, result }: Attempt,
  { state, disabledReason }: Settled,
): Promise<void> {
  if (state === 'waiting' && disabledReason === undefined) return;
  await audit.recordIn(tx, {
    action: disabledReason === undefined ? 'webhook.settled' : 'webhook.disabled',
    actor: 'system',
    outcome: 'error' in result ? 'failed' : 'ok',
    objects: {
      webhookId: hook.row.id,
      clientId: hook.row.client_id,
      eventId: item.id,
      eventType: item.row.event_type,
      messageId: messageIdOf(item.row),
      state,
      attempts: item.row.attempts + (result.outcome === 'unneeded' ? 0 : 1),
    },
  });
}
