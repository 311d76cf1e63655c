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
