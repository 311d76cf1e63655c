import type { Storage } from '../../platform/index.ts';
import type { DeliveryTables } from './tables.ts';

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
