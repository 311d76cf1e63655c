import type { Storage } from '../../platform/index.ts';
import type { EdgesTables } from './tables.ts';

/** Who may take an account's queue: one session at a time, over all nodes. */
export interface AccountLeases {
  /** Takes or renews it; false if another session has it. */
  take(accountId: string, owner: string): Promise<boolean>;
  release(accountId: string, owner: string): Promise<void>;
}

/** Longer than any pause of a client within a session; the lease of a node that died ends by itself. */
const leaseMs = 120_000;

export function createAccountLeases(storage: Storage): AccountLeases {
  const db = storage.tables<EdgesTables>();
  return {
    async take(accountId, owner) {
      const nowMs = storage.clock.now().getTime();
      const until = nowMs + leaseMs;
      const taken = await db
        .insertInto('edge_lease')
        .values({ account_id: accountId, owner, until })
        .onConflict((conflict) =>
          conflict
            .column('account_id')
            .doUpdateSet({ owner, until })
            .where((eb) => eb.or([eb('edge_lease.owner', '=', owner), eb('edge_lease.until', '<', nowMs)])),
        )
        .executeTakeFirst();
      return (taken.numInsertedOrUpdatedRows ?? 0n) > 0n;
    },
    async release(accountId, owner) {
      await db
        .deleteFrom('edge_lease')
        .where('account_id', '=', accountId)
        .where('owner', '=', owner)
        .execute();
    },
  };
}
