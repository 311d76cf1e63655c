import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { AuditTables } from './chain.ts';

/** Rows per transaction: other writers wait no longer than that takes. */
const batch = 1000;

/**
 * Deletes the oldest rows of the chain, beyond `keepMs`. What remains can still be verified: the number of the first row that is
 * kept, and the hash that it names, are noted in the same transaction. The newest row always stays. One node does it at a time.
 * Returns how many were deleted.
 */
export async function deleteOld(storage: Storage, clock: Clock, keepMs: number): Promise<number> {
  const before = clock.now().getTime() - keepMs;
  const done = await storage.tryAlone('audit-retention', async () => {
    let total = 0;
    for (let count = batch; count === batch; total += count)
      count = await storage.transaction((tx: Kysely<AuditTables>) => deleteBatch(tx, before));
    return total;
  });
  return done?.result ?? 0;
}

async function deleteBatch(tx: Kysely<AuditTables>, before: number): Promise<number> {
  const rows = await tx
    .selectFrom('audit_event')
    .select(['sequence', 'recorded_at', 'hash'])
    .orderBy('sequence')
    .limit(batch + 1)
    .execute();
  // A clock that was set may have left a younger row between older ones; the chain is only ever cut at its beginning.
  const firstKept = rows.findIndex(({ recorded_at }) => recorded_at >= before);
  const old = rows.slice(0, firstKept < 0 ? Math.max(0, rows.length - 1) : firstKept);
  const last = old.at(-1);
  if (last === undefined) return 0;
  const sequence = Number(last.sequence) + 1;
  await tx
    .insertInto('audit_start')
    .values({ id: 1, sequence, previous_hash: last.hash })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ sequence, previous_hash: last.hash }))
    .execute();
  await tx.deleteFrom('audit_event').where('sequence', '<', sequence).execute();
  return old.length;
}
