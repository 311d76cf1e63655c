import { sql, type Kysely } from 'kysely';
import {
  createLeases,
  requireLease,
  type FairItem,
  type Leases,
  type Storage,
} from '../../platform/index.ts';
import type { Verified } from './state-of.ts';
import type { VerificationTables } from './tables.ts';

/** A domain in progress. */
export interface DomainItem extends FairItem {
  readonly nameServer: string;
  readonly doneUpTo: string;
  readonly failures: number;
  readonly asksAll: boolean;
  readonly cycle: number;
  /** By `Storage.clock`; 0 between cycles. */
  readonly cycleStartedAt: number;
  /** Questions of the running cycle. */
  readonly queries: number;
}

/** Results of a work item, ordered by address key. */
export interface WorkResult {
  readonly found: readonly (readonly [addressKey: string, verified: Verified])[];
  /** The key of the last checked address; empty if all were checked to the end. */
  readonly doneUpTo: string;
  readonly asksAll: boolean;
  readonly failures: number;
  readonly cycle: number;
  /**
   * Rows of the domain that are older belong to addresses that the directory no longer has, once the cycle is
   * over.
   */
  readonly cycleStartedAt: number;
  readonly queries: number;
  readonly nextAttemptAt: number;
  /** Null unless the cycle is over. */
  readonly checkedAt: number | null;
}

/** The rows of the work: due domains, and results. */
export interface DomainWork {
  readonly leases: Leases;
  claim(limit: number, excluded: readonly string[]): Promise<readonly DomainItem[]>;
  /** Notes who answers for a domain; it is due again at once. */
  setNameServer(item: DomainItem, nameServer: string, queries: number): Promise<void>;
  /** Throws PLATFORM_LEASE_LOST, and then writes nothing. */
  store(item: DomainItem, result: WorkResult, atMs: number): Promise<void>;
  /** Makes the domains those of the directory; new ones become due within `spreadMs`. */
  list(domains: ReadonlySet<string>, listed: string, spreadMs: number): Promise<void>;
}

export const leaseMs = 60_000;
/** Rows of one statement. */
const rowsAtOnce = 100;
/** Domains read, and addresses deleted, by one statement: some milliseconds of the event loop. */
const idsAtOnce = 2000;

export function createDomainWork(storage: Storage): DomainWork {
  const db = storage.tables<VerificationTables>();
  const leases = createLeases({ storage, table: 'verification_domain', leaseMs });
  const nowMs = (): number => storage.clock.now().getTime();

  async function readKnown(): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    for (let after = ''; ;) {
      const rows = await db
        .selectFrom('verification_domain')
        .select('id')
        .where('id', '>', after)
        .orderBy('id')
        .limit(idsAtOnce)
        .execute();
      for (const { id } of rows) known.add(id);
      if (rows.length < idsAtOnce) return known;
      after = rows.at(-1)?.id ?? '';
    }
  }

  async function removeAddresses(on: Kysely<VerificationTables>, domain: string): Promise<void> {
    for (let removed = idsAtOnce; removed === idsAtOnce;) {
      const { numDeletedRows } = await on
        .deleteFrom('verification_address')
        .where('address_key', 'in', (eb) =>
          eb
            .selectFrom('verification_address')
            .select('address_key')
            .where('domain', '=', domain)
            .limit(idsAtOnce),
        )
        .executeTakeFirstOrThrow();
      removed = Number(numDeletedRows);
    }
  }

  return {
    leases,
    async claim(limit, excluded) {
      const now = nowMs();
      const rows = await leases.claim((lease) =>
        storage.transaction<VerificationTables, VerificationTables['verification_domain'][]>(async (tx) => {
          const due = await storage
            .forUpdate(
              tx
                .selectFrom('verification_domain')
                .selectAll()
                .where('next_attempt_at', '<=', now)
                .where('lease_until', '<=', now)
                .$if(excluded.length > 0, (query) => query.where(storage.isNoneOf(partyOf, excluded)))
                .orderBy('next_attempt_at')
                .limit(limit),
              { skipLocked: true },
            )
            .execute();
          if (due.length === 0) return [];
          return tx
            .updateTable('verification_domain')
            .set(lease)
            .where(
              'id',
              'in',
              due.map(({ id }) => id),
            )
            .returningAll()
            .execute();
        }),
      );
      return rows.map((row) => ({
        id: row.id,
        token: row.lease_token ?? '',
        party: row.name_server === '' ? row.id : row.name_server,
        nameServer: row.name_server,
        doneUpTo: row.done_up_to,
        failures: row.failures,
        asksAll: row.asks_all === 1,
        cycle: row.cycle,
        queries: row.cycle_started_at === 0 ? 0 : row.queries,
        cycleStartedAt: row.cycle_started_at,
      }));
    },
    async setNameServer({ id, token }, nameServer, queries) {
      const { numUpdatedRows } = await db
        .updateTable('verification_domain')
        .set({
          ...leases.free,
          name_server: nameServer,
          queries,
          cycle_started_at: nowMs(),
          next_attempt_at: nowMs(),
        })
        .where('id', '=', id)
        .where('lease_token', '=', token)
        .executeTakeFirstOrThrow();
      requireLease(numUpdatedRows, id);
    },
    async store(item, result, atMs) {
      const changed_at = nowMs();
      await storage.transaction<VerificationTables, void>(async (tx) => {
        const { numUpdatedRows } = await tx
          .updateTable('verification_domain')
          .set({
            ...leases.free,
            done_up_to: result.doneUpTo,
            asks_all: result.asksAll ? 1 : 0,
            failures: result.failures,
            cycle: result.cycle,
            queries: result.queries,
            cycle_started_at: result.checkedAt === null ? result.cycleStartedAt : 0,
            next_attempt_at: result.nextAttemptAt,
            ...(result.checkedAt === null ? {} : { checked_at: result.checkedAt }),
          })
          .where('id', '=', item.id)
          .where('lease_token', '=', item.token)
          .executeTakeFirstOrThrow();
        requireLease(numUpdatedRows, item.id);
        for (let start = 0; start < result.found.length; start += rowsAtOnce)
          await tx
            .insertInto('verification_address')
            .values(
              result.found.slice(start, start + rowsAtOnce).map(([address_key, { state, reason }]) => ({
                address_key,
                domain: item.id,
                state,
                reason,
                checked_at: atMs,
                changed_at,
              })),
            )
            .onConflict((conflict) =>
              conflict.column('address_key').doUpdateSet((eb) => ({
                state: eb.ref('excluded.state'),
                reason: eb.ref('excluded.reason'),
                checked_at: eb.ref('excluded.checked_at'),
                changed_at: eb.ref('excluded.changed_at'),
              })),
            )
            .execute();
        // Addresses that were removed from the directory were not checked.
        if (result.doneUpTo === '' && result.checkedAt !== null)
          await tx
            .deleteFrom('verification_address')
            .where('domain', '=', item.id)
            .where('changed_at', '<', result.cycleStartedAt)
            .execute();
      });
    },
    async list(domains, listed, spreadMs) {
      const known = await readKnown();
      const now = nowMs();
      const added = [...domains].filter((domain) => !known.has(domain));
      for (let start = 0; start < added.length; start += rowsAtOnce)
        await db
          .insertInto('verification_domain')
          .values(
            added.slice(start, start + rowsAtOnce).map((id) => ({
              id,
              name_server: '',
              next_attempt_at: now + Math.floor(Math.random() * spreadMs),
              lease_token: null,
              lease_until: 0,
              done_up_to: '',
              failures: 0,
              asks_all: 0,
              cycle: 0,
              cycle_started_at: 0,
              queries: 0,
              checked_at: null,
            })),
          )
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      for (const domain of known) {
        if (domains.has(domain)) continue;
        // While the domain is there, the next call continues what this one does not finish.
        await removeAddresses(db, domain);
        await storage.transaction(async (tx: Kysely<VerificationTables>) => {
          // The domain first: a node that works on it then loses its lease and stores nothing more.
          await tx.deleteFrom('verification_domain').where('id', '=', domain).execute();
          await removeAddresses(tx, domain);
        });
      }
      await db.updateTable('verification_state').set({ listed }).execute();
    },
  };
}

const partyOf = sql<string>`case when name_server = '' then id else name_server end`;
