import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { tablesOf, type AnyTransaction, type Lookups, type Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import type { FindHolder } from '../oauth/index.ts';
import type { Ownership } from '../organizations/index.ts';
import type { TrustGuards } from './guards.ts';
import type { TrustTables } from './tables.ts';

/** Dependencies of every function of this module. */
export interface TrustStore {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly lookups: Lookups;
  readonly guards: TrustGuards;
  readonly ownership: Ownership;
  readonly findHolder: FindHolder;
}

export interface Change {
  /** For the audit trail, `area.verb` (SEC-02). */
  readonly action: string;
  /** Identifiers only. */
  readonly objects: Readonly<Record<string, string>>;
  /** `operator` for a command, `system` for automatic changes. */
  readonly actor?: 'operator' | 'system';
}

/** The audit rows of changes that the caller makes in this transaction. */
export async function applyChangesIn(
  tx: AnyTransaction,
  { audit, lookups }: TrustStore,
  changes: readonly Change[],
): Promise<void> {
  await tablesOf<TrustTables>(tx)
    .updateTable('trust_state')
    .set(({ eb }) => ({ revision: eb('revision', '+', 1) }))
    .execute();
  lookups.changeIn(tx);
  for (const { action, actor = 'operator', objects } of changes)
    await audit.recordIn(tx, { action, actor, outcome: 'ok', objects });
}

/** Makes a change and its audit row in one transaction: both are kept or neither. */
export function applyChange<Result>(
  store: TrustStore,
  change: Change,
  work: (tx: Kysely<TrustTables>) => Promise<Result>,
): Promise<Result> {
  return store.storage.transaction<TrustTables, Result>(async (tx) => {
    const result = await work(tx);
    await applyChangesIn(tx, store, [change]);
    return result;
  });
}
