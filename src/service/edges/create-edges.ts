import type { Clock } from '../../core/index.ts';
import type { Storage, Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { createSlowHasher, type ClientStore } from '../oauth/index.ts';
import { createAccountStore, type EdgeAccountStore } from './account-store.ts';
import { createEdgesGuards } from './guards.ts';
import { createMailboxes, type Mailboxes } from './mailboxes.ts';
import { createSignIns, type SignInDependencies, type SignIns } from './sign-in.ts';
import type { EdgesTables } from './tables.ts';
import { sql, type Kysely } from 'kysely';

export interface EdgesOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly clients: Pick<ClientStore, 'get'>;
  /** Failed sign-ins per network, and per user name there, before they are turned away. */
  readonly attemptsPerMinute: number;
  readonly onSignIn?: SignInDependencies['onSignIn'];
}

/** Edge accounts and what their protocols share. */
export interface Edges {
  readonly accounts: EdgeAccountStore;
  /** The accounts for one operator, such as `operator:alice`, whom the audit trail names. */
  as(actor: string): EdgeAccountStore;
  readonly signIns: SignIns;
  readonly leases: AccountLeases;
  readonly offers: Offers;
  readonly mailboxes: Mailboxes;
}

export function createEdges(options: EdgesOptions): Edges {
  const deps = { ...options, hasher: createSlowHasher(), guards: createEdgesGuards(options) };
  return {
    accounts: createAccountStore(deps),
    as: (actor) => createAccountStore({ ...deps, audit: deps.audit.as(actor) }),
    signIns: createSignIns(deps),
    leases: createAccountLeases(options.storage),
    offers: createOffers(options),
    mailboxes: createMailboxes(options),
  };
}

/** Who may take an account's queue: one session at a time, over all nodes. */
interface AccountLeases {
  /** Takes or renews it; false if another session has it. One of a former run of this node has nothing. */
  take(accountId: string, sessionId: string): Promise<boolean>;
  release(accountId: string, sessionId: string): Promise<void>;
}

/**
 * Longer than any pause of a client within a session. The lease of another node that died ends by itself
 * after this time.
 */
const leaseMs = 120_000;

function createAccountLeases(storage: Storage): AccountLeases {
  const db = storage.tables<EdgesTables>();
  const { nodeId, runId } = storage.run;
  const ownerOf = (sessionId: string): string => `${nodeId}/${runId}/${sessionId}`;
  return {
    async take(accountId, sessionId) {
      const owner = ownerOf(sessionId);
      const nowMs = storage.clock.now().getTime();
      const until = nowMs + leaseMs;
      const taken = await db
        .insertInto('edge_lease')
        .values({ account_id: accountId, owner, until })
        .onConflict((conflict) =>
          conflict
            .column('account_id')
            .doUpdateSet({ owner, until })
            .where((eb) =>
              eb.or([
                eb('edge_lease.owner', '=', owner),
                eb('edge_lease.until', '<', nowMs),
                // None was ever given for so long: the row was changed in the database.
                eb('edge_lease.until', '>', nowMs + 10 * leaseMs),
                eb.and([
                  eb('edge_lease.owner', 'like', `${nodeId}/%`),
                  eb('edge_lease.owner', 'not like', `${nodeId}/${runId}/%`),
                ]),
              ]),
            ),
        )
        .executeTakeFirst();
      return (taken.numInsertedOrUpdatedRows ?? 0n) > 0n;
    },
    async release(accountId, sessionId) {
      await db
        .deleteFrom('edge_lease')
        .where('account_id', '=', accountId)
        .where('owner', '=', ownerOf(sessionId))
        .execute();
    },
  };
}

/** How often received messages were given to a client that did not take them. */
interface Offers {
  /** Notes that a message is given out now; returns how often it was, this time included. */
  note(copyId: string): Promise<number>;
  /** Times by copy; those never offered are absent. */
  count(copyIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  taken(copyId: string): Promise<void>;
}

function createOffers({ storage, clock }: { readonly storage: Storage; readonly clock: Clock }): Offers {
  const db: Kysely<EdgesTables> = storage.tables<EdgesTables>();
  return {
    async note(copyId) {
      const offeredAt = clock.now().getTime();
      const { offers } = await db
        .insertInto('edge_offer')
        .values({ copy_id: copyId, offers: 1, offered_at: offeredAt })
        .onConflict((conflict) =>
          conflict
            .column('copy_id')
            .doUpdateSet({ offers: sql<number>`edge_offer.offers + 1`, offered_at: offeredAt }),
        )
        .returning('offers')
        .executeTakeFirstOrThrow();
      return offers;
    },
    async count(copyIds) {
      if (copyIds.length === 0) return new Map();
      const rows = await db
        .selectFrom('edge_offer')
        .select(['copy_id', 'offers'])
        .where('copy_id', 'in', copyIds)
        .execute();
      return new Map(rows.map((row) => [row.copy_id, row.offers]));
    },
    async taken(copyId) {
      await db.deleteFrom('edge_offer').where('copy_id', '=', copyId).execute();
    },
  };
}
