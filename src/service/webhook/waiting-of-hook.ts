/**
 * The waiting notifications of one webhook, changed together. After a long outage of a target they are hundreds of thousands, so that
 * each of these works in steps: all of them in one transaction would hold up every other writer for seconds.
 */
import { sql, type Kysely } from 'kysely';
import type { Clock, Closable, Log } from '../../core/index.ts';
import { requireLease, startWorker, type Storage } from '../../platform/index.ts';
import type { RowGuard } from '../integrity/index.ts';
import { isOn } from './hook-cache.ts';
import type { NotificationItem } from './store-notifications.ts';
import type { NotificationRow, NotificationState, WebhookKind, WebhookRow, WebhookTables } from './tables.ts';

/** Notifications that one transaction changes: some tens of milliseconds. */
const maxChangedAtOnce = 2000;

export interface HoldDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly guard: RowGuard<WebhookRow>;
}

/**
 * Holds the notifications of a webhook that is off: the one in progress and all without a lease. If it ends in the middle, the next one
 * that is due goes on. The webhook is read under its lock after its notifications were changed, so that none stays held if it is
 * enabled meanwhile.
 */
export async function holdWaiting(deps: HoldDependencies, item: NotificationItem): Promise<void> {
  const { storage } = deps;
  await storage.transaction(async (tx: Kysely<WebhookTables>) => {
    const result = await tx
      .updateTable('webhook_notification')
      .set(heldAt(deps))
      .where('id', '=', item.id)
      .where('lease_token', '=', item.token)
      .executeTakeFirst();
    requireLease(result.numUpdatedRows, item.id);
    await releaseStep(deps, tx, item.party);
  });
  while (await storage.transaction((tx: Kysely<WebhookTables>) => holdStep(deps, tx, item.party)));
}

/** Returns whether there may be more. */
async function holdStep(
  deps: HoldDependencies,
  tx: Kysely<WebhookTables>,
  webhookId: string,
): Promise<boolean> {
  const count = await changeSome(deps.storage, tx, { webhookId, state: 'waiting', changes: heldAt(deps) });
  const released = await releaseStep(deps, tx, webhookId);
  return count === maxChangedAtOnce && released === 0;
}

function heldAt({ clock }: HoldDependencies): Partial<NotificationRow> {
  return { state: 'held', lease_token: null, lease_until: 0, settled_at: clock.now().getTime() };
}

/**
 * Makes the held notifications of a webhook due if it is on. Call it after the transaction that enabled it; {@link startRelease} goes on
 * if it ends in the middle.
 */
export async function releaseHeld(deps: Omit<HoldDependencies, 'clock'>, webhookId: string): Promise<void> {
  let count: number;
  do {
    count = await deps.storage.transaction((tx: Kysely<WebhookTables>) => releaseStep(deps, tx, webhookId));
  } while (count === maxChangedAtOnce);
}

async function releaseStep(
  { storage, guard }: Omit<HoldDependencies, 'clock'>,
  tx: Kysely<WebhookTables>,
  webhookId: string,
): Promise<number> {
  const query = tx.selectFrom('webhook').selectAll().where('id', '=', webhookId);
  const hook = await storage.forUpdate(query).executeTakeFirst();
  if (hook === undefined || !(await isOn(guard, hook))) return 0;
  const changes = {
    state: 'waiting',
    next_attempt_at: storage.clock.now().getTime(),
    settled_at: null,
  } as const;
  return changeSome(storage, tx, { webhookId, state: 'held', changes });
}

interface Some {
  readonly webhookId: string;
  readonly state: NotificationState;
  readonly changes: Partial<NotificationRow>;
}

/** Changes some notifications in a state and without a lease. Returns how many. */
async function changeSome(
  storage: Storage,
  tx: Kysely<WebhookTables>,
  { webhookId, state, changes }: Some,
): Promise<number> {
  const some = tx
    .selectFrom('webhook_notification')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .where('state', '=', sql.lit(state))
    .where('lease_until', '<=', storage.clock.now().getTime())
    .limit(maxChangedAtOnce);
  const result = await tx
    .with('some', () => storage.forUpdate(some, { skipLocked: true }))
    .updateTable('webhook_notification')
    .set(changes)
    .where('id', 'in', (eb) => eb.selectFrom('some').select('some.id'))
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export interface ReleaseDependencies extends Omit<HoldDependencies, 'clock'> {
  readonly log: Log;
  /** Called after notifications became due. */
  readonly wake: () => void;
}

/**
 * Releases what is held of webhooks that are enabled, now and then every minute: a webhook is enabled in one transaction and its
 * notifications are released in others, between which a process may end.
 */
export function startRelease({ wake, log, ...deps }: ReleaseDependencies): Closable {
  return startWorker<never>({
    name: 'webhook-release',
    claim: async () => {
      for (const id of await findUnreleased(deps.storage)) {
        await releaseHeld(deps, id);
        wake();
      }
      return [];
    },
    handle: async () => {},
    idleMs: 60_000,
    concurrency: 1,
    log,
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

/** Makes the notifications of a webhook that wait for their next attempt due now; those with a lease stay as they are. */
export async function retryWaiting(storage: Storage, webhookId: string, kind: WebhookKind): Promise<void> {
  const db = storage.tables<WebhookTables>();
  const now = storage.clock.now().getTime();
  for (let after = now; ;) {
    const rows = await waitingBeyond(db, { webhookId, kind, now, after });
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

function waitingBeyond(
  db: Kysely<WebhookTables>,
  {
    webhookId,
    kind,
    now,
    after,
  }: {
    readonly webhookId: string;
    readonly kind: WebhookKind;
    readonly now: number;
    readonly after: number;
  },
) {
  return (
    db
      .selectFrom('webhook_notification')
      .select(['id', 'next_attempt_at'])
      .where('state', '=', sql.lit('waiting'))
      .where('kind', '=', kind)
      .where('next_attempt_at', '>', after)
      .where('lease_until', '<=', now)
      // Written so that SQLite does not take the index of webhook and state, which has those that are due as well, and no order.
      .where((eb) => eb.not(eb('webhook_id', '<>', webhookId)))
      .orderBy('next_attempt_at')
      .limit(maxChangedAtOnce)
      .execute()
  );
}

/** Deletes the notifications of a webhook that is about to be removed. If it ends in the middle, the webhook is still there. */
export async function removeWaiting(storage: Storage, webhookId: string): Promise<void> {
  const db = storage.tables<WebhookTables>();
  for (;;) {
    const result = await db
      .deleteFrom('webhook_notification')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('webhook_notification')
          .select('id')
          .where('webhook_id', '=', webhookId)
          .limit(maxChangedAtOnce),
      )
      .executeTakeFirst();
    if (Number(result.numDeletedRows) < maxChangedAtOnce) return;
  }
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
