import { randomUUID } from 'node:crypto';
import { sql, type QueryCreator } from 'kysely';
import type { Storage } from '../../platform/index.ts';
import { toItem, type NotificationItem } from './store-notifications.ts';
import type { WebhookKind, WebhookTables } from './tables.ts';

export interface ClaimParts {
  readonly storage: Storage;
  readonly leaseMs: number;
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

/** Takes due notifications of one kind under a lease, oldest first, with one statement; it is preceded by a look that writes nothing. */
export function createClaim({ storage, leaseMs }: ClaimParts, kind: WebhookKind): ClaimNotifications {
  const db = storage.tables<WebhookTables>();

  return async (limit, hooks, clients) => {
    const due = { now: storage.clock.now().getTime(), hooks, clients };
    // Idle nodes look every second; a claim is a write even if it finds nothing.
    if ((await dueIds(db, kind, due).limit(1).execute()).length === 0) return [];
    const token = randomUUID();
    const rows = await db
      .with('due', (cte) =>
        storage.forUpdate(dueIds(cte, kind, due).orderBy('next_attempt_at').limit(limit), {
          skipLocked: true,
        }),
      )
      .updateTable('webhook_notification')
      .set({ lease_token: token, lease_until: due.now + leaseMs })
      .where('id', 'in', (eb) => eb.selectFrom('due').select('due.id'))
      .returningAll()
      .execute();
    return rows
      .toSorted((a, b) => a.next_attempt_at - b.next_attempt_at)
      .map((row) => toItem(row, token, due.now));
  };
}

function dueIds(db: QueryCreator<WebhookTables>, kind: WebhookKind, { now, hooks, clients }: Due) {
  // A literal, because a partial index is not used for a parameter.
  let query = db
    .selectFrom('webhook_notification')
    .select('id')
    .where('state', '=', sql.lit('waiting'))
    .where('kind', '=', kind)
    .where('next_attempt_at', '<=', now)
    .where('lease_until', '<=', now);
  if (hooks.length > 0) query = query.where('webhook_id', 'not in', hooks);
  if (clients.length > 0) query = query.where('client_id', 'not in', clients);
  return query;
}
