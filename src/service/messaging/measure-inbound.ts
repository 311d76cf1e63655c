import { sql } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import { everything, whereOwned, type Owned } from '../organizations/index.ts';
import type { MessagingTables } from './tables.ts';

/** A count of waiting items, and the wait of the oldest one; 0 if there is none. */
export interface Waiting {
  readonly count: number;
  readonly oldestSeconds: number;
}

/** Incoming mail that is not processed yet, by the code of its last error (empty before the first). */
export async function measureInboundMail(
  storage: Storage,
  clock: Clock,
): Promise<readonly (Waiting & { readonly reason: string })[]> {
  const rows = await storage
    .tables<MessagingTables>()
    .selectFrom('inbound_mail')
    .select([
      'last_error as reason',
      sql<number>`count(*)`.as('count'),
      sql<number>`min(received_at)`.as('oldest'),
    ])
    // The words of the partial indexes.
    .where(sql<boolean>`state = 'waiting'`)
    .groupBy('last_error')
    .execute();
  return rows.map(({ reason, ...row }) => ({ reason, ...readWaiting(row, clock) }));
}

/** Messages in the inbox that no client has acknowledged, one per recipient. */
export async function measureUnacknowledged(
  storage: Storage,
  clock: Clock,
  owned: Owned = everything,
): Promise<Waiting> {
  const row = await storage
    .tables<MessagingTables>()
    .selectFrom('inbox_copy')
    .select([sql<number>`count(*)`.as('count'), sql<number | null>`min(received_at)`.as('oldest')])
    .where('acknowledged_at', 'is', null)
    .where(whereOwned(owned, 'domains', sql.ref('domain')))
    .executeTakeFirstOrThrow();
  return readWaiting(row, clock);
}

/** Messages received since then for what is owned. */
export async function countReceived(storage: Storage, since: Date, owned: Owned): Promise<number> {
  const { count } = await storage
    .tables<MessagingTables>()
    .selectFrom('inbox_copy')
    .select(sql<number>`count(distinct message_id)`.as('count'))
    .where('received_at', '>=', since.getTime())
    .where(whereOwned(owned, 'domains', sql.ref('domain')))
    .executeTakeFirstOrThrow();
  return Number(count);
}

function readWaiting({ count, oldest }: { count: number; oldest: number | null }, clock: Clock): Waiting {
  const now = clock.now().getTime();
  return {
    count: Number(count),
    oldestSeconds: oldest === null ? 0 : Math.max(0, now - Number(oldest)) / 1000,
  };
}

/** True if incoming mail is due and not leased. */
export async function isInboundMailDue(storage: Storage): Promise<boolean> {
  const now = storage.clock.now().getTime();
  const row = await storage
    .tables<MessagingTables>()
    .selectFrom('inbound_mail')
    .select('id')
    // The words of the partial indexes.
    .where(sql<boolean>`state = 'waiting'`)
    .where('next_attempt_at', '<=', now)
    .where('lease_until', '<=', now)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
