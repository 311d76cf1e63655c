import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { Storage, Vault } from '../../platform/index.ts';
import { isAnyLegalHold, lockLegalHolds } from '../legal-hold/index.ts';
import type { AuditTables } from './chain.ts';
import { requireChainState } from './chain-state.ts';
import { writeStart } from './start-row.ts';

/** Rows per transaction: other writers wait no longer than that takes. */
const batch = 1000;

export interface DeleteOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly keepMs: number;
}

/**
 * Deletes the oldest rows of the chain, beyond `keepMs`; none while a legal hold is in force, since rows name
 * what they are about in many ways, and the chain can be cut only at its beginning. The remaining rows can
 * still be verified: the number of the first of them, and the hash that it names, are signed and stored in
 * the same transaction. The newest row always stays. One node does it at a time. Returns how many were
 * deleted.
 */
export async function deleteOld({ storage, vault, clock, keepMs }: DeleteOptions): Promise<number> {
  const now = clock.now();
  const done = await storage.tryRunExclusive('audit-retention', async () => {
    let total = 0;
    for (let count = batch; count === batch; total += count)
      count = await storage.transaction((tx: Kysely<AuditTables>) =>
        deleteBatch({ storage, vault }, tx, now, keepMs),
      );
    return total;
  });
  return done?.result ?? 0;
}

async function deleteBatch(
  { storage, vault }: Pick<DeleteOptions, 'storage' | 'vault'>,
  tx: Kysely<AuditTables>,
  now: Date,
  keepMs: number,
): Promise<number> {
  const before = now.getTime() - keepMs;
  await lockLegalHolds(storage, tx);
  const { is_any } = await tx.selectNoFrom(isAnyLegalHold.as('is_any')).executeTakeFirstOrThrow();
  if (Number(is_any) === 1) return 0;
  const rows = await tx
    .selectFrom('audit_event')
    .select(['sequence', 'recorded_at', 'hash'])
    .orderBy('sequence')
    .limit(batch + 1)
    .execute();
  // A clock that was set may have left a younger row between older ones; the chain is only ever cut at its
  // beginning.
  const firstKept = rows.findIndex(({ recorded_at }) => recorded_at >= before);
  const old = rows.slice(0, firstKept < 0 ? Math.max(0, rows.length - 1) : firstKept);
  const last = old.at(-1);
  if (last === undefined) return 0;
  const sequence = Number(last.sequence) + 1;
  await writeStart(tx, await requireChainState(tx, vault), { sequence, previous_hash: last.hash }, now);
  await tx.deleteFrom('audit_event').where('sequence', '<', sequence).execute();
  return old.length;
}
