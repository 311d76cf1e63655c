import type { Clock, Log } from '../../../core/index.ts';
import { createFaultLog, type Storage } from '../../../platform/index.ts';
import type { DirectoryDb } from '../store/state.ts';
import type { DirectoryTables } from '../store/tables.ts';

/**
 * Number of records that each client has received today (UTC). Counted in memory, stored in batches. What
 * other nodes have stored is read again when it is as old as a batch.
 */
export interface QuotaLedger {
  used(clientId: string): Promise<number>;
  /**
   * Counts records, unless as many as `quota` were counted before: requests that run at once go over it by
   * one page, too.
   */
  add(clientId: string, recordCount: number, quota: number): Promise<boolean>;
  secondsToNextDay(): number;
  close(): Promise<void>;
}

interface Account {
  /** As stored, other nodes included, when last read. */
  stored: number;
  /** Not yet stored. */
  pending: number;
  readAtMs: number;
  /** A read of the stored count that is under way. */
  reading?: Promise<void> | undefined;
}

const dayMs = 86_400_000;
/** Days whose counts stay in the table. */
const keptDays = 31;

export function createQuotaLedger(options: {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly flushMs: number;
  readonly log: Log;
  /** Number of running nodes; 1 if absent. */
  readonly liveNodes?: () => number;
}): QuotaLedger {
  const { storage, clock, liveNodes = () => 1 } = options;
  const faults = createFaultLog('directory-quota', options.log);
  let day = dayOf(clock.now());
  let dayEndsAtMs = endOf(day);
  let accounts = new Map<string, Promise<Account>>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let isStoring = false;

  function account(clientId: string): Promise<Account> {
    const nowMs = clock.now().getTime();
    // Also when the clock was set back: the counts of a day belong to that day.
    if (nowMs >= dayEndsAtMs || nowMs < dayEndsAtMs - dayMs) {
      void flush();
      day = dayOf(new Date(nowMs));
      dayEndsAtMs = endOf(day);
      accounts = new Map();
    }
    let found = accounts.get(clientId);
    if (found === undefined) {
      found = readStored(storage, clientId, day).then((stored) => ({ stored, pending: 0, readAtMs: nowMs }));
      // A failed read must not be remembered: the next request tries again.
      found.catch(() => accounts.delete(clientId));
      accounts.set(clientId, found);
    }
    return found;
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const [flushedDay, flushed] = [day, [...accounts]];
    writing = writing
      .then(() => {
        isStoring = true;
        return store(storage, flushedDay, flushed);
      })
      .then(
        () => faults.worked('store the quotas'),
        (error: unknown) => faults.failed('store the quotas', error),
      )
      .finally(() => {
        isStoring = false;
      });
    return writing;
  }

  /**
   * Without the database the count known last holds. Not while counts are stored: one that is stored and
   * still pending would count twice; storing reads them again, too.
   */
  async function readAgain(clientId: string, found: Account): Promise<void> {
    if (liveNodes() <= 1 || isStoring) return;
    const nowMs = clock.now().getTime();
    if (Math.abs(nowMs - found.readAtMs) < options.flushMs) return;
    found.reading ??= readStored(storage, clientId, day)
      .then(
        (stored) => {
          if (!isStoring) found.stored = Math.max(found.stored, stored);
          found.readAtMs = nowMs;
          faults.worked('read a quota');
        },
        (error: unknown) => faults.failed('read a quota', error),
      )
      .finally(() => {
        found.reading = undefined;
      });
    await found.reading;
  }

  return {
    async used(clientId) {
      const found = await account(clientId);
      await readAgain(clientId, found);
      return found.stored + found.pending;
    },
    async add(clientId, recordCount, quota) {
      const found = await account(clientId);
      if (found.stored + found.pending >= quota) return false;
      found.pending += recordCount;
      timer ??= setTimeout(() => void flush(), options.flushMs).unref();
      return true;
    },
    secondsToNextDay: () => Math.ceil((dayMs - (clock.now().getTime() % dayMs)) / 1000),
    close: () => flush(),
  };
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

function endOf(day: string): number {
  return Date.parse(day) + dayMs;
}

/**
 * Records that each client, or each of a few hundred, was given today (UTC), as stored: at most some seconds
 * old. Clients without any are absent.
 */
export async function readUsedToday(
  storage: Storage,
  clientIds: readonly string[] | undefined,
  now: Date,
): Promise<ReadonlyMap<string, number>> {
  return clientIds?.length === 0 ? new Map() : readCounts(storage, clientIds, dayOf(now));
}

async function readStored(storage: Storage, clientId: string, day: string): Promise<number> {
  return (await readCounts(storage, [clientId], day)).get(clientId) ?? 0;
}

async function readCounts(
  storage: Storage,
  clientIds: readonly string[] | undefined,
  day: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await storage
    .tables<DirectoryTables>()
    .selectFrom('directory_quota')
    .select(['client_id', 'record_count'])
    .$if(clientIds !== undefined, (query) => query.where('client_id', 'in', clientIds ?? []))
    .where('day', '=', day)
    .execute();
  return new Map(rows.map((row) => [row.client_id, row.record_count]));
}

async function store(storage: Storage, day: string, accounts: [string, Promise<Account>][]): Promise<void> {
  const due: { clientId: string; account: Account; amount: number }[] = [];
  for (const [clientId, found] of accounts) {
    const account = await found;
    if (account.pending > 0) due.push({ clientId, account, amount: account.pending });
  }
  if (due.length === 0) return;
  // In one order on all nodes, so that two of them never wait for each other.
  due.sort((a, b) => (a.clientId < b.clientId ? -1 : 1));
  await storage.transaction(async (tx: DirectoryDb) => {
    for (const { clientId, amount } of due) await addStored(tx, clientId, day, amount);
    const oldest = new Date(Date.parse(day) - keptDays * dayMs);
    await tx.deleteFrom('directory_quota').where('day', '<', dayOf(oldest)).execute();
  });
  // In one step: what is stored is neither missing from a count nor stored again.
  for (const { account, amount } of due) {
    account.pending -= amount;
    account.stored += amount;
  }
  for (const { clientId, account } of due) {
    const stored = await readStored(storage, clientId, day);
    account.stored = Math.max(account.stored, stored);
  }
}

async function addStored(tx: DirectoryDb, clientId: string, day: string, amount: number): Promise<void> {
  await tx
    .insertInto('directory_quota')
    .values({ client_id: clientId, day, record_count: amount })
    .onConflict((conflict) =>
      conflict.columns(['client_id', 'day']).doUpdateSet(({ ref, eb }) => ({
        record_count: eb(ref('directory_quota.record_count'), '+', amount),
      })),
    )
    .execute();
}
