import { createGrowingCache, type Clock, type Closable, type Log } from '../../core/index.ts';
import { defaultSettings, startRounds, type Storage } from '../../platform/index.ts';
import type { VerificationTables } from './tables.ts';

export interface ProcessedOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly log: Log;
  /** After this an address's month is deleted. */
  readonly keepDays?: number;
  readonly flushMs?: number;
}

/** Notes in which month a message was last processed by each recipient. */
export interface ProcessedNotes extends Closable {
  /**
   * Returns at once: the row is written later, once per address and month, not in the transaction of the MDN.
   */
  note(addressKey: string): void;
}

/** Addresses whose month is known to be written. */
const maxKnown = 50_000;
/** Addresses that wait to be written; more are lost, which costs a month of an indication. */
const maxWaiting = 20_000;
const rowsAtOnce = 200;
const dayMs = 86_400_000;
const cleanEveryMs = dayMs;

export function createProcessedNotes({
  storage,
  clock,
  log,
  keepDays = defaultSettings.verification.processedDays,
  flushMs = 2000,
}: ProcessedOptions): ProcessedNotes {
  const known = createGrowingCache<number>(maxKnown);
  let waiting = new Map<string, number>();
  let cleanedAt = 0;

  async function flush(): Promise<void> {
    const notes = [...waiting].sort(([a], [b]) => (a < b ? -1 : 1));
    waiting = new Map();
    const changed_at = storage.clock.now().getTime();
    for (let start = 0; start < notes.length; start += rowsAtOnce) {
      const some = notes.slice(start, start + rowsAtOnce);
      await storage
        .tables<VerificationTables>()
        .insertInto('verification_processed')
        .values(some.map(([address_key, month]) => ({ address_key, month, changed_at })))
        .onConflict((conflict) =>
          conflict.column('address_key').doUpdateSet((eb) => ({
            month: eb.ref('excluded.month'),
            changed_at: eb.ref('excluded.changed_at'),
          })),
        )
        .execute();
      for (const [key, month] of some) known.set(key, month);
    }
    if (changed_at - cleanedAt < cleanEveryMs) return;
    cleanedAt = changed_at;
    await storage.tryRunExclusive('verification-processed', () => deleteOld(changed_at - keepDays * dayMs));
  }

  async function deleteOld(beforeMs: number): Promise<void> {
    for (let count = rowsAtOnce; count === rowsAtOnce;) {
      const old = storage
        .tables<VerificationTables>()
        .selectFrom('verification_processed')
        .select('address_key')
        .where('changed_at', '<', beforeMs)
        .orderBy('changed_at')
        .limit(rowsAtOnce);
      const result = await storage
        .tables<VerificationTables>()
        .deleteFrom('verification_processed')
        .where('address_key', 'in', old)
        // Written anew since: kept.
        .where('changed_at', '<', beforeMs)
        .executeTakeFirst();
      count = Number(result.numDeletedRows);
    }
  }

  const rounds = startRounds({
    name: 'processed-months',
    everyMs: flushMs,
    log,
    hasLast: true,
    work: () => waiting.size > 0 && flush(),
  });
  return {
    note(addressKey) {
      const now = clock.now();
      const month = now.getUTCFullYear() * 100 + now.getUTCMonth() + 1;
      if (known.get(addressKey) !== month && waiting.size < maxWaiting) waiting.set(addressKey, month);
    },
    close: rounds.close,
  };
}
