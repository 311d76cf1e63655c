import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import type { DirectAddress } from '../../lib/values/index.ts';
import { memoryOfContent, type Leases, type Storage } from '../../platform/index.ts';
import { dueAtOnce, readRecipients, type ClaimedDestination, type Destination } from './queue-items.ts';
import { outages, type DeliveryTables } from './tables.ts';

/** Finds and claims the destinations that wait. */
export interface Claims {
  /**
   * Takes due items of other domains than those in `excluded`, and of those in `only` alone if that is given.
   */
  claim(
    limit: number,
    excluded: readonly string[],
    only?: readonly string[],
  ): Promise<readonly ClaimedDestination[]>;
  /** Those of these domains of which an operator wants something tried now. */
  findWanted(domains: readonly string[]): Promise<readonly string[]>;
  /** Destinations that could not be reached when they were tried last. */
  findOutages(): Promise<readonly string[]>;
  /** True if something waits for the destination because it could not be reached. */
  hasOutage(domain: string): Promise<boolean>;
  /**
   * Makes one item due now of those that failed because the destination could not be reached. Returns their
   * number, 0 or 1.
   */
  makeOneDue(domain: string): Promise<number>;
  /**
   * Makes up to `limit` waiting items of a destination due now, by their ids behind `after`. Returns the last
   * id, undefined if none is left.
   */
  makeDue(domain: string, limit: number, after: string): Promise<string | undefined>;
  /** Claims destinations whose retry time is over, of any node. */
  claimOverdue(limit: number): Promise<readonly ClaimedDestination[]>;
  /** Claims those of some destinations that are not in progress anywhere. */
  claimNamed(ids: readonly string[]): Promise<readonly ClaimedDestination[]>;
}

/** Items that were never tried fail so long after their time: after a standstill they are tried once. */
export const firstAttemptGraceMs = 10 * 60_000;

export function createClaims({
  storage,
  leases,
}: {
  readonly storage: Storage;
  readonly leases: Leases;
}): Claims {
  const claimDue = storage.prepare<DeliveryTables, ClaimValues, Destination>((db, values) =>
    buildClaim(storage, db, values),
  );
  const nowMs = (): number => storage.clock.now().getTime();

  async function claim(
    limit: number,
    excluded: readonly string[],
    only?: readonly string[],
  ): Promise<readonly ClaimedDestination[]> {
    return leases.claim(async ({ lease_token: token, lease_until: until }) => {
      const values = { now: nowMs(), limit, token, until };
      const rows =
        excluded.length === 0 && only === undefined
          ? await claimDue.all(storage.db, values)
          : await buildClaim(storage, storage.tables(), values, { excluded, only }).execute();
      return complete(rows, token, until);
    });
  }

  /** Makes the selected items due now, of those that wait. Returns their ids. */
  async function makeDue(
    select: (
      db: Kysely<DeliveryTables>,
    ) => SelectQueryBuilder<DeliveryTables, 'delivery_destination', object>,
  ): Promise<string[]> {
    const now = nowMs();
    const db = storage.tables<DeliveryTables>();
    const waiting = select(db)
      .select('id')
      .where('next_attempt_at', '>', now)
      .where('lease_until', '<=', now);
    const rows = await db
      .with('waiting', () => storage.forUpdate(waiting, { skipLocked: true }))
      .updateTable('delivery_destination')
      .set({ next_attempt_at: now })
      .where('id', 'in', (eb) => eb.selectFrom('waiting').select('id'))
      .returning('id')
      .execute();
    return rows.map(({ id }) => id);
  }

  async function claimOverdue(limit: number): Promise<readonly ClaimedDestination[]> {
    const now = nowMs();
    // A cheap look first: nearly always there is none.
    const found = await overdue(storage.tables(), now).select('id').limit(1).executeTakeFirst();
    if (found === undefined) return [];
    return claimThose((db) => overdue(db, now).select('id').limit(limit));
  }

  async function claimThose(
    select: (
      db: Kysely<DeliveryTables>,
    ) => SelectQueryBuilder<DeliveryTables, 'delivery_destination', { id: string }>,
  ): Promise<readonly ClaimedDestination[]> {
    return leases.claim(async (lease) => {
      const rows = await storage
        .tables<DeliveryTables>()
        .with('due', () => storage.forUpdate(select(storage.tables()), { skipLocked: true }))
        .updateTable('delivery_destination')
        .set(lease)
        .where('id', 'in', (eb) => eb.selectFrom('due').select('id'))
        .returningAll()
        .execute();
      return complete(rows, lease.lease_token, lease.lease_until);
    });
  }

  async function complete(
    rows: readonly Destination[],
    token: string,
    leaseUntil: number,
  ): Promise<readonly ClaimedDestination[]> {
    if (rows.length === 0) return [];
    const deliveries = await storage
      .tables<DeliveryTables>()
      .selectFrom('delivery')
      .select(['id', 'kind', 'sender', 'message_id', 'destinations', 'size_bytes'])
      .where('id', 'in', [...new Set(rows.map((row) => row.delivery_id))])
      .execute();
    const byId = new Map(deliveries.map((row) => [row.id, row]));
    return rows
      .toSorted((a, b) => a.next_attempt_at - b.next_attempt_at || (a.id < b.id ? -1 : 1))
      .flatMap((row) => {
        const delivery = byId.get(row.delivery_id);
        if (delivery === undefined) return [];
        return {
          id: row.id,
          token,
          party: row.domain,
          deliveryId: delivery.id,
          messageId: delivery.message_id,
          kind: delivery.kind,
          sender: delivery.sender as DirectAddress,
          recipients: readRecipients(row.recipients),
          destinations: delivery.destinations,
          bytes: memoryOfContent(delivery.size_bytes),
          attempts: row.attempts,
          notAfter: row.not_after,
          leaseUntil,
        };
      });
  }

  return {
    claim,
    claimOverdue,
    async findWanted(domains) {
      const rows = await storage
        .tables<DeliveryTables>()
        .selectFrom('delivery_destination')
        .select('domain')
        .distinct()
        .where('next_attempt_at', '=', dueAtOnce)
        .where('lease_until', '<=', nowMs())
        .where((eb) => storage.isOneOf(eb.ref('domain'), domains))
        .execute();
      return rows.map(({ domain }) => domain);
    },
    async findOutages() {
      const rows = await failed(storage.tables()).select('domain').distinct().execute();
      return rows.map(({ domain }) => domain);
    },
    async hasOutage(domain) {
      const row = failed(storage.tables()).select('id').where('domain', '=', domain).limit(1);
      return (await row.executeTakeFirst()) !== undefined;
    },
    async makeOneDue(domain) {
      const made = await makeDue((db) =>
        failed(db).where('domain', '=', domain).orderBy('next_attempt_at').limit(1),
      );
      return made.length;
    },
    async makeDue(domain, limit, after) {
      // Not in the order of their times: for that each call would sort all that wait for the destination.
      const made = await makeDue((db) =>
        db
          .selectFrom('delivery_destination')
          .where('domain', '=', domain)
          .where('id', '>', after)
          .orderBy('id')
          .limit(limit),
      );
      return made.length < limit ? undefined : made.toSorted().at(-1);
    },
    claimNamed(ids) {
      const now = nowMs();
      return claimThose((db) =>
        db
          .selectFrom('delivery_destination')
          .select('id')
          .where('id', 'in', [...ids, ''])
          .where('lease_until', '<=', now),
      );
    },
  };
}

function overdue(db: Kysely<DeliveryTables>, now: number) {
  return (
    db
      .selectFrom('delivery_destination')
      .where('not_after', '<=', now)
      .where('lease_until', '<=', now)
      // After a long standstill of this node, items that were never tried are tried once before they fail.
      .where((eb) => eb.or([eb('attempts', '>', 0), eb('not_after', '<=', now - firstAttemptGraceMs)]))
  );
}

/**
 * The rows that wait because their destination was unreachable; the predicate on `last_reason` names the
 * partial index.
 */
function failed(db: Kysely<DeliveryTables>) {
  return db
    .selectFrom('delivery_destination')
    .where(sql<boolean>`last_reason <> ''`)
    .where('last_reason', 'in', outages);
}

interface ClaimValues {
  readonly now: number;
  readonly limit: number;
  readonly token: string;
  readonly until: number;
}

function buildClaim(
  storage: Storage,
  db: Kysely<DeliveryTables>,
  { now, limit, token, until }: ClaimValues,
  {
    excluded = [],
    only,
  }: { readonly excluded?: readonly string[]; readonly only?: readonly string[] | undefined } = {},
) {
  return db
    .with('due', () => {
      const due = db
        .selectFrom('delivery_destination')
        .select('id')
        .where('next_attempt_at', '<=', now)
        .where('lease_until', '<=', now)
        .where('domain', 'not in', (eb) => eb.selectFrom('delivery_hold').select('domain'))
        .$if(excluded.length > 0, (query) =>
          query.where((eb) => storage.isNoneOf(eb.ref('domain'), excluded)),
        )
        .$if(only !== undefined, (query) => query.where('domain', 'in', [...(only ?? []), '']))
        .orderBy('next_attempt_at')
        .limit(limit);
      return storage.forUpdate(due, { skipLocked: true });
    })
    .updateTable('delivery_destination')
    .set({ lease_token: token, lease_until: until })
    .where('id', 'in', (eb) => eb.selectFrom('due').select('id'))
    .returningAll();
}
