import { errorCode, type Log } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { DeliveryTables } from './tables.ts';

/** The destinations on hold, as this node knows them; the claim reads the table itself. */
export interface Holds {
  has(domain: string): boolean;
  refresh(): Promise<void>;
  close(): void;
}

export const holdTopic = 'delivery-hold';

export async function createHolds(storage: Storage, log: Log): Promise<Holds> {
  let held: ReadonlySet<string> = new Set();

  async function refresh(): Promise<void> {
    const rows = await storage
      .tables<DeliveryTables>()
      .selectFrom('delivery_hold')
      .select('domain')
      .execute();
    held = new Set(rows.map(({ domain }) => domain));
  }

  await refresh();
  const close = storage.onAnnounced(holdTopic, () => {
    refresh().catch((error: unknown) =>
      log.warn({ code: errorCode(error), error }, 'destinations on hold could not be read'),
    );
  });
  return { has: (domain) => held.has(domain), refresh, close };
}
