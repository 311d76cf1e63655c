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

/** The destinations on hold, read on demand; for a process that delivers nothing. */
export function readHolds(storage: Storage): Omit<Holds, 'close'> {
  let held: ReadonlySet<string> = new Set();
  return {
    has: (domain) => held.has(domain),
    async refresh() {
      held = await findHeld(storage);
    },
  };
}

async function findHeld(storage: Storage): Promise<ReadonlySet<string>> {
  const rows = await storage.tables<DeliveryTables>().selectFrom('delivery_hold').select('domain').execute();
  return new Set(rows.map(({ domain }) => domain));
}

/** A command is another process, whose announcements do not reach this one on SQLite. */
const refreshMs = 1_000;

export async function createHolds(storage: Storage, log: Log): Promise<Holds> {
  let held: ReadonlySet<string> = new Set();

  async function refresh(): Promise<void> {
    held = await findHeld(storage);
  }

  await refresh();
  let isReading = false;
  const timer = setInterval(() => {
    if (isReading) return;
    isReading = true;
    // A database that is away is reported by all that needs it more.
    refresh()
      .catch(() => {})
      .finally(() => (isReading = false));
  }, refreshMs).unref();
  const stopListening = storage.onAnnounced(holdTopic, () => {
    refresh().catch((error: unknown) =>
      log.warn({ code: errorCode(error), error }, 'destinations on hold could not be read'),
    );
  });
  const close = (): void => {
    clearInterval(timer);
    stopListening();
  };
  return { has: (domain) => held.has(domain), refresh, close };
}
