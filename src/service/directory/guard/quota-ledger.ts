import { errorCode, type Clock, type Log } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import type { DirectoryDb } from '../store/state.ts';
import type { DirectoryTables } from '../store/tables.ts';

/** Number of records that each client has received today (UTC). Counted in memory, stored in batches. */
export interface QuotaLedger {
  used(clientId: string): Promise<number>;
  add(clientId: string, recordCount: number): void;
  secondsToNextDay(): number;
  close(): Promise<void>;
}

interface Account {
  /** As stored, other nodes included, when last read. */
  stored: number;
  /** Not yet stored. */
  pending: number;
}

const dayMs = 86_400_000;
/** Days whose counts stay in the table. */
const keptDays = 31;

export function createQuotaLedger(options: {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly flushMs: number;
  readonly log?: Log;
}): QuotaLedger {
  const { storage, clock } = options;
  let day = dayOf(clock.now());
  let dayEndsAtMs = endOf(day);
  let accounts = new Map<string, Promise<Account>>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

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
      found = readStored(storage, clientId, day).then((stored) => ({ stored, pending: 0 }));
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
      .then(() => store(storage, flushedDay, flushed))
      .catch((error: unknown) => {
        options.log?.error({ code: errorCode(error) }, 'directory quotas could not be stored');
      });
    return writing;
  }

  return {
    async used(clientId) {
      const { stored, pending } = await account(clientId);
      return stored + pending;
    },
    add(clientId, recordCount) {
      void account(clientId).then(
        (found) => {
          found.pending += recordCount;
        },
        () => {},
      );
      timer ??= setTimeout(() => void flush(), options.flushMs).unref();
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

/** Records that a client was given today (UTC), as stored: at most some seconds old. */
export function readUsedToday(storage: Storage, clientId: string, now: Date): Promise<number> {
  return readStored(storage, clientId, dayOf(now));
}

async function readStored(storage: Storage, clientId: string, day: string): Promise<number> {
  const row = await storage
    .tables<DirectoryTables>()
    .selectFrom('directory_quota')
    .select('record_count')
    .where('client_id', '=', clientId)
    .where('day', '=', day)
    .executeTakeFirst();
  return row?.record_count ?? 0;
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
  for (const { clientId, account, amount } of due) {
    account.pending -= amount;
    account.stored = Math.max(account.stored + amount, await readStored(storage, clientId, day));
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
