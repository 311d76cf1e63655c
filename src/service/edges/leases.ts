import type { Storage } from '../../platform/index.ts';
import type { EdgesTables } from './tables.ts';

/** Who may take an account's queue: one session at a time, over all nodes. */
export interface AccountLeases {
  /** Takes or renews it; false if another session has it. One of a former run of this node has nothing. */
  take(accountId: string, sessionId: string): Promise<boolean>;
  release(accountId: string, sessionId: string): Promise<void>;
}

/**
 * Longer than any pause of a client within a session. The lease of another node that died ends by itself
 * after this time.
 */
const leaseMs = 120_000;

export function createAccountLeases(storage: Storage): AccountLeases {
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
