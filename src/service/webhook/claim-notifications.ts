import { sql, type QueryCreator } from 'kysely';
import type { Leases, Storage } from '../../platform/index.ts';
import { toItem, type NotificationItem } from './store-notifications.ts';
import type { WebhookKind, WebhookTables } from './tables.ts';

export interface ClaimDependencies {
  readonly storage: Storage;
  readonly leases: Leases;
}

export type ClaimNotifications = (
  limit: number,
  excludedHooks: readonly string[],
  excludedClients: readonly string[],
) => Promise<readonly NotificationItem[]>;

interface Due {
  readonly now: number;
  readonly hooks: readonly string[];
  readonly clients: readonly string[];
}

/**
 * Takes due notifications of one kind under a lease, oldest first, with one statement; it is preceded by a
 * look that writes nothing.
 */
export function createClaim({ storage, leases }: ClaimDependencies, kind: WebhookKind): ClaimNotifications {
  const db = storage.tables<WebhookTables>();
  const findAny = storage.prepare<WebhookTables, { now: number }, { id: string }>((on, { now }) =>
    dueIds(storage, on, kind, { now, hooks: [], clients: [] }).limit(sql.lit(1)),
  );

  return async (limit, hooks, clients) => {
    const due = { now: storage.clock.now().getTime(), hooks, clients };
    // Idle nodes look every second; a claim is a write even if it finds nothing.
    if ((await findAny.first(db, { now: due.now })) === undefined) return [];
    return leases.claim(async (lease) => {
      const rows = await db
        .with('due', (cte) =>
          storage.forUpdate(dueIds(storage, cte, kind, due).orderBy('next_attempt_at').limit(limit), {
            skipLocked: true,
          }),
        )
        .updateTable('webhook_notification')
        .set(lease)
        .where('id', 'in', (eb) => eb.selectFrom('due').select('due.id'))
        .returningAll()
        .execute();
      return rows
        .toSorted((a, b) => a.next_attempt_at - b.next_attempt_at)
        .map((row) => toItem(row, lease.lease_token, due.now));
    });
  };
}

function dueIds(
  storage: Storage,
  db: QueryCreator<WebhookTables>,
  kind: WebhookKind,
  { now, hooks, clients }: Due,
) {
  // A literal, because a partial index is not used for a parameter.
  let query = db
    .selectFrom('webhook_notification')
    .select('id')
    .where('state', '=', sql.lit('waiting'))
    .where('kind', '=', kind)
    .where('next_attempt_at', '<=', now)
    .where('lease_until', '<=', now);
  if (hooks.length > 0) query = query.where((eb) => storage.isNoneOf(eb.ref('webhook_id'), hooks));
  if (clients.length > 0) query = query.where((eb) => storage.isNoneOf(eb.ref('client_id'), clients));
  return query;
}
