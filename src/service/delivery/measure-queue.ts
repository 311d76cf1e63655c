import { sql } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { DeliveryTables } from './tables.ts';

/** The number of waiting deliveries of one kind and reason. */
export interface QueueMeasure {
  /** `message`, `mdn` or `dsn`. */
  readonly kind: string;
  /** Reason of the last attempt; empty before the first. */
  readonly reason: string;
  readonly count: number;
  readonly oldestSeconds: number;
}

/** Rows counted; with more the numbers are those of the oldest. */
const maxCounted = 20_000;

/**
 * Depth and age of the outgoing queue by kind and by the reason of the last attempt. A destination of a
 * message counts once.
 */
export async function measureQueue(storage: Storage, clock: Clock): Promise<readonly QueueMeasure[]> {
  const rows = await storage
    .tables<DeliveryTables>()
    .selectFrom((eb) =>
      eb
        .selectFrom('delivery_destination')
        .select(['delivery_id', 'last_reason'])
        .orderBy('id')
        .limit(maxCounted)
        .as('o'),
    )
    .innerJoin('delivery as d', 'd.id', 'o.delivery_id')
    .select([
      'd.kind',
      'o.last_reason as reason',
      sql<number>`count(*)`.as('count'),
      sql<number>`min(d.created_at)`.as('oldest'),
    ])
    .groupBy(['d.kind', 'o.last_reason'])
    .execute();
  const now = clock.now().getTime();
  return rows.map(({ kind, reason, count, oldest }) => ({
    kind,
    reason,
    count: Number(count),
    oldestSeconds: Math.max(0, now - Number(oldest)) / 1000,
  }));
}

/** The id of the newest attempt; empty if there is none. Changes with every attempt, on whichever node. */
export async function findLastAttempt(storage: Storage): Promise<string> {
  const row = await storage
    .tables<DeliveryTables>()
    .selectFrom('delivery_attempt')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? '';
}

/**
 * True if outgoing mail waits for this service. Mail of a destination that is on hold or has failed recently
 * does not count: it waits for its peer.
 */
export async function isMailDue(storage: Storage): Promise<boolean> {
  const now = storage.clock.now().getTime();
  const row = await storage
    .tables<DeliveryTables>()
    .selectFrom('delivery_destination')
    .select('id')
    .where('next_attempt_at', '<=', now)
    .where('lease_until', '<=', now)
    .where('domain', 'not in', (eb) => eb.selectFrom('delivery_hold').select('domain'))
    .where('domain', 'not in', (eb) =>
      eb
        .selectFrom('delivery_destination as failed')
        .select('failed.domain')
        .where('failed.last_reason', '<>', ''),
    )
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
