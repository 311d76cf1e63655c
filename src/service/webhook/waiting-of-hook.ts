/**
 * The notifications of one webhook, changed together. After a long outage of its target they are hundreds of
 * thousands, so that each of these works in steps.
 */
import { sql, type Kysely } from 'kysely';
import type { Clock, Closable, Log } from '../../core/index.ts';
import { requireLease, startRounds, type Storage } from '../../platform/index.ts';
import type { RowGuard } from '../integrity/index.ts';
import { isAnyLegalHold, lockLegalHolds } from '../legal-hold/index.ts';
import { changeSome, maxChangedAtOnce } from './change-some.ts';
import { isOn } from './guard.ts';
import type { NotificationItem } from './store-notifications.ts';
import type { NotificationRow, NotificationState, WebhookKind, WebhookRow, WebhookTables } from './tables.ts';

export interface HoldDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly guard: RowGuard<WebhookRow>;
}

/**
 * Holds the notifications of a webhook that is off: the one in progress and all without a lease. If it ends
 * in the middle, the next one that is due goes on. The webhook is read under its lock after its notifications
 * were changed, so that none stays held if it is enabled meanwhile.
 */
export async function holdWaiting(deps: HoldDependencies, item: NotificationItem): Promise<void> {
  let isMore = await deps.storage.transaction(async (tx: Kysely<WebhookTables>) => {
    const result = await tx
      .updateTable('webhook_notification')
      .set(heldAt(deps))
      .where('id', '=', item.id)
      .where('lease_token', '=', item.token)
      .executeTakeFirst();
    requireLease(result.numUpdatedRows, item.id);
    return !(await releaseStep(deps, tx, item.party)).isOn;
  });
  while (isMore)
    isMore = await deps.storage.transaction((tx: Kysely<WebhookTables>) => holdStep(deps, tx, item.party));
}

/** Returns whether there may be more to hold. */
async function holdStep(
  deps: HoldDependencies,
  tx: Kysely<WebhookTables>,
  webhookId: string,
): Promise<boolean> {
  const waiting = withoutLease(deps.storage, tx, webhookId, 'waiting');
  const count = await changeSome(deps.storage, tx, waiting, heldAt(deps));
  const { isOn: isEnabled } = await releaseStep(deps, tx, webhookId);
  return count === maxChangedAtOnce && !isEnabled;
}

function heldAt({ clock }: HoldDependencies): Partial<NotificationRow> {
  return { state: 'held', lease_token: null, lease_until: 0, settled_at: clock.now().getTime() };
}

/**
 * Makes the held notifications of a webhook due if it is on. Call it after the transaction that enabled it;
 * {@link startRelease} goes on if it ends in the middle.
 */
export async function releaseHeld(deps: Omit<HoldDependencies, 'clock'>, webhookId: string): Promise<void> {
  let isMore: boolean;
  do
    isMore = await deps.storage.transaction(
      async (tx: Kysely<WebhookTables>) =>
        (await releaseStep(deps, tx, webhookId)).count === maxChangedAtOnce,
    );
  while (isMore);
}

interface ReleaseStep {
  /** The webhook is on. If not, nothing is released. */
  readonly isOn: boolean;
  readonly count: number;
}

async function releaseStep(
  { storage, guard }: Omit<HoldDependencies, 'clock'>,
  tx: Kysely<WebhookTables>,
  webhookId: string,
): Promise<ReleaseStep> {
  const query = tx.selectFrom('webhook').selectAll().where('id', '=', webhookId);
  const hook = await storage.forUpdate(query).executeTakeFirst();
  if (hook === undefined || !(await isOn(guard, hook))) return { isOn: false, count: 0 };
  const count = await changeSome(storage, tx, withoutLease(storage, tx, webhookId, 'held'), {
    state: 'waiting',
    next_attempt_at: storage.clock.now().getTime(),
    settled_at: null,
  });
  return { isOn: true, count };
}

function withoutLease(
  storage: Storage,
  tx: Kysely<WebhookTables>,
  webhookId: string,
  state: NotificationState,
) {
  return tx
    .selectFrom('webhook_notification')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .where('state', '=', sql.lit(state))
    .where('lease_until', '<=', storage.clock.now().getTime());
}

export interface ReleaseDependencies extends Omit<HoldDependencies, 'clock'> {
  readonly log: Log;
  /** Called after notifications became due. */
  readonly wake: () => void;
}

/**
 * Releases what is held of webhooks that are enabled, now and then every minute: a webhook is enabled in one
 * transaction and its notifications are released in others, between which a process may end.
 */
export function startRelease({ wake, log, ...deps }: ReleaseDependencies): Closable {
  return startRounds({
    name: 'webhook-release',
    everyMs: 60_000,
    log,
    async work() {
      for (const id of await findUnreleased(deps.storage)) {
        await releaseHeld(deps, id);
        wake();
      }
    },
  });
}

async function findUnreleased(storage: Storage): Promise<readonly string[]> {
  const rows = await storage
    .tables<WebhookTables>()
    .selectFrom('webhook')
    .select('id')
    .where('is_enabled', '=', 1)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('webhook_notification')
          .select('webhook_notification.id')
          .whereRef('webhook_notification.webhook_id', '=', 'webhook.id')
          .where('state', '=', sql.lit('held')),
      ),
    )
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * Makes the notifications of a webhook that wait for their next attempt due now; those with a lease stay as
 * they are.
 */
export async function retryWaiting(storage: Storage, webhookId: string, kind: WebhookKind): Promise<void> {
  const db = storage.tables<WebhookTables>();
  const now = storage.clock.now().getTime();
  for (let after = now; ;) {
    const rows = await db
      .selectFrom('webhook_notification')
      .select(['id', 'next_attempt_at'])
      .where('state', '=', sql.lit('waiting'))
      .where('kind', '=', kind)
      .where('next_attempt_at', '>', after)
      .where('lease_until', '<=', now)
      // Written so that SQLite does not take the index of webhook and state, which has those that are due as
      // well, and no order.
      .where((eb) => eb.not(eb('webhook_id', '<>', webhookId)))
      .orderBy('next_attempt_at')
      .limit(maxChangedAtOnce)
      .execute();
    await db
      .updateTable('webhook_notification')
      .set({ next_attempt_at: now })
      .where((eb) =>
        storage.isOneOf(
          eb.ref('id'),
          rows.map(({ id }) => id),
        ),
      )
      .where('state', '=', sql.lit('waiting'))
      .where('lease_until', '<=', now)
      .where('next_attempt_at', '>', now)
      .execute();
    const last = rows.at(-1);
    if (last === undefined || rows.length < maxChangedAtOnce) return;
    // Further ones may be due at the same time as the last.
    after = last.next_attempt_at - 1;
  }
}

/**
 * Deletes the notifications of a webhook that is about to be removed. If it ends in the middle, the webhook
 * is still there.
 */
export async function removeWaiting(storage: Storage, webhookId: string): Promise<void> {
  let count: number;
  do
    count = await storage.transaction((tx: Kysely<WebhookTables>) =>
      removeSome(storage, tx, webhookId, maxChangedAtOnce),
    );
  while (count === maxChangedAtOnce);
}

/**
 * One step of that, before any other lock of the transaction. While any legal hold is in force, the dead ones
 * stay, since nothing says whose message they are of once the webhook is gone (Decision 0034).
 */
export async function removeSome(
  storage: Storage,
  tx: Kysely<WebhookTables>,
  webhookId: string,
  limit?: number,
): Promise<number> {
  await lockLegalHolds(storage, tx);
  const some = tx
    .selectFrom('webhook_notification')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .where((eb) => eb.or([eb('state', '<>', sql.lit('dead')), eb.not(isAnyLegalHold)]))
    .$if(limit !== undefined, (query) => query.limit(limit ?? 0));
  const result = await tx.deleteFrom('webhook_notification').where('id', 'in', some).executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** Deletes a notification whose webhook was removed. */
export async function removeOrphan(storage: Storage, item: NotificationItem): Promise<void> {
  const result = await storage
    .tables<WebhookTables>()
    .deleteFrom('webhook_notification')
    .where('id', '=', item.id)
    .where('lease_token', '=', item.token)
    .executeTakeFirst();
  requireLease(result.numDeletedRows, item.id);
}
