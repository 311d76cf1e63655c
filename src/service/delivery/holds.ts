import { sql, type Kysely } from 'kysely';
import { countOf, operatorName, type Clock, type Closable, type Log } from '../../core/index.ts';
import { startRounds, type AnyTransaction, type Storage } from '../../platform/index.ts';
import { firstAttemptGraceMs } from './claims.ts';
import type { DeliveryTables } from './tables.ts';

/** The destinations on hold, as this node knows them; the claim reads the table itself. */
export interface Holds {
  has(domain: string): boolean;
  refresh(): Promise<void>;
}

export const holdTopic = 'delivery-hold';

/** The destinations on hold, read on demand; for a process that delivers nothing. */
export function readHolds(storage: Storage): Holds {
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

export interface HeldDestination {
  readonly domain: string;
  readonly reason: string;
  /** As in the audit trail, such as `operator:alice`. */
  readonly author: string;
  readonly since: Date;
  /** Undefined: until an operator releases it. */
  readonly endsAt: Date | undefined;
  /** Deliveries that wait for it. */
  readonly waiting: number;
  /** When the first of them fails if the hold stays; undefined if none waits. */
  readonly expiresAt: Date | undefined;
}

/** All destinations on hold, with what waits for them. */
export async function listHolds(storage: Storage, clock: Clock): Promise<readonly HeldDestination[]> {
  const db = storage.tables<DeliveryTables>();
  const rows = await db.selectFrom('delivery_hold').selectAll().orderBy('domain').execute();
  if (rows.length === 0) return [];
  const waiting = await db
    .selectFrom('delivery_destination')
    .select([
      'domain',
      sql<number>`count(*)`.as('count'),
      sql<number>`min(not_after + case when attempts = 0 then ${firstAttemptGraceMs} else 0 end)`.as('first'),
    ])
    .where('domain', 'in', (eb) => eb.selectFrom('delivery_hold').select('domain'))
    .groupBy('domain')
    .execute();
  const byDomain = new Map(waiting.map((one) => [one.domain, one]));
  // Ends of deliveries are by the storage's clock; people read the machine's.
  const shift = clock.now().getTime() - storage.clock.now().getTime();
  return rows.map(({ domain, reason, author, created_at, ends_at }) => {
    const found = byDomain.get(domain);
    return {
      domain,
      reason,
      author,
      since: new Date(created_at),
      endsAt: ends_at === null ? undefined : new Date(ends_at),
      waiting: Number(found?.count ?? 0),
      expiresAt: found === undefined ? undefined : new Date(Number(found.first) + shift),
    };
  });
}

/** Warned of that long before mail fails because its destination is on hold. */
const expiryWarningMs = 3_600_000;
/** A hold without an end that is older has been forgotten, or should get one. */
const forgottenMs = 86_400_000;

/** A hold in words for operators; `isUrgent` if mail is about to fail under it or it was forgotten. */
export function describeHold(hold: HeldDestination, now: Date): { text: string; isUrgent: boolean } {
  const { domain, reason, author, since, endsAt, waiting, expiresAt } = hold;
  const who = operatorName(author) ?? author;
  const until = endsAt === undefined ? 'until somebody releases it' : `until ${endsAt.toISOString()}`;
  const held = `${domain} is on hold since ${since.toISOString()} ${until}, by ${who}: ${reason}`;
  const ends = endsAt ?? new Date(8.64e15);
  if (expiresAt !== undefined && expiresAt <= ends && expiresAt.getTime() - now.getTime() <= expiryWarningMs)
    return {
      text: `${countOf(waiting, 'delivery', 'deliveries')} to ${domain} ${waiting === 1 ? 'waits' : 'wait'}, and the first fails at ${expiresAt.toISOString()} unless the hold is released. ${held}`,
      isUrgent: true,
    };
  return { text: held, isUrgent: endsAt === undefined && now.getTime() - since.getTime() >= forgottenMs };
}

/** Releases the holds whose end has come. `record` runs in the transaction of each. */
export async function releaseEnded(
  storage: Storage,
  clock: Clock,
  record: ((tx: AnyTransaction, domain: string) => Promise<void>) | undefined,
): Promise<readonly string[]> {
  const nowMs = clock.now().getTime();
  const ended = await storage
    .tables<DeliveryTables>()
    .selectFrom('delivery_hold')
    .select('domain')
    .where('ends_at', '<=', nowMs)
    .execute();
  const released: string[] = [];
  for (const { domain } of ended)
    await storage.transaction(async (tx: Kysely<DeliveryTables>) => {
      // Another node may have been first, or an operator may have given it another end.
      const { numDeletedRows } = await tx
        .deleteFrom('delivery_hold')
        .where('domain', '=', domain)
        .where('ends_at', '<=', nowMs)
        .executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) return;
      await record?.(tx, domain);
      storage.announce(tx, holdTopic);
      storage.announce(tx, 'delivery');
      storage.afterCommit(tx, () => void released.push(domain));
    });
  return released;
}

/** A command is another process, whose announcements do not reach this one on SQLite. */
const refreshMs = 1_000;

export async function createHolds(storage: Storage, log: Log): Promise<Holds & Closable> {
  const holds = readHolds(storage);
  await holds.refresh();
  const rounds = startRounds({ name: 'delivery-holds', everyMs: refreshMs, log, work: holds.refresh });
  const stopListening = storage.onAnnounced(holdTopic, rounds.wake);
  return {
    ...holds,
    async close() {
      stopListening();
      await rounds.close();
    },
  };
}
