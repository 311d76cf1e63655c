import type { Kysely } from 'kysely';
import {
  type AnyTransaction,
  type Storage,
  type StoredValue,
  tablesOf,
  type Vault,
} from '../../platform/index.ts';
import { type AuditEvent, conceal } from './audit-event.ts';
import { type ChainState, newChainRow, openState, readChainState } from './chain-state.ts';
import {
  type AuditRow,
  type AuditTables,
  type Authenticate,
  canonicalObjects,
  chainStart,
  hashRow,
} from './chain.ts';
import { AuditError } from './errors.ts';
import { type AuditOrigin, writeOrigin } from './origin.ts';
import { toJwk } from './statements.ts';

export interface TimedEvent {
  readonly event: AuditEvent;
  readonly atMs: number;
  readonly origin?: AuditOrigin | undefined;
}

/** Of the row that names the chain and its public key. Appended only as the first row. */
export const beginAction = 'audit.begin';

const columns = [
  'sequence',
  'recorded_at',
  'action',
  'actor',
  'outcome',
  'request_id',
  'remote_address',
  'origin',
  'objects',
  'previous_hash',
  'hash',
] as const satisfies readonly (keyof AuditRow)[];

/**
 * Adds events to the end of the chain. Storage passes on the events of a whole commit together, under a lock,
 * so nobody else can append between reading the last row and inserting the next.
 */
export function createAppender(
  storage: Storage,
  vault: Vault,
): (tx: AnyTransaction, events: readonly TimedEvent[]) => Promise<void> {
  // Never from memory: after a failover that lost the last commits, another node writes other rows of their
  // numbers.
  const findLast = storage.prepare<AuditTables, object, Pick<AuditRow, 'sequence' | 'hash'>>((db) =>
    db.selectFrom('audit_event').select(['sequence', 'hash']).orderBy('sequence', 'desc').limit(1),
  );
  // It never changes: read once.
  let known: ChainState | undefined;

  return async (tx, events) => {
    let { sequence, hash } = (await findLast.first(tx, {})) ?? { sequence: 0, hash: chainStart };
    const tables = tablesOf<AuditTables>(tx);
    const state =
      known ?? (await readChainState(tables, vault)) ?? (await beginChain(tables, vault, sequence));
    const rows: StoredValue[][] = [];
    for (const timed of events) {
      if (timed.event.action === beginAction && sequence > 0) continue;
      const row = toRow(withKey(timed, state), ++sequence, hash, state.authenticate);
      rows.push(columns.map((column) => row[column]));
      hash = row.hash;
    }
    if (rows.length === 0) return;
    await storage.bulkInsert(tx, { table: 'audit_event', columns, rows });
    storage.afterCommit(tx, () => {
      known = state;
    });
  };
}

/** Under the lock of the chain: makes the keys of one that has no row yet. */
async function beginChain(tx: Kysely<AuditTables>, vault: Vault, lastSequence: number): Promise<ChainState> {
  // Deleting the row that names the key must not make rows with other keys acceptable.
  if (lastSequence > 0)
    throw new AuditError(
      'AUDIT_CHAIN_RESET',
      `the row that names the key of the audit chain was deleted; its last event is ${lastSequence}`,
    );
  const row = newChainRow(vault);
  await tx.insertInto('audit_chain').values(row).execute();
  return openState(row, vault);
}

/** The first row names the chain and its public key. */
function withKey(timed: TimedEvent, state: ChainState): TimedEvent {
  if (timed.event.action !== beginAction) return timed;
  const names = { chain: state.chainId, publicKey: toJwk(state.publicKey).kid };
  return { ...timed, event: { ...timed.event, objects: { ...timed.event.objects, ...names } } };
}

function toRow(
  { event, atMs, origin }: TimedEvent,
  sequence: number,
  previousHash: Uint8Array,
  authenticate: Authenticate,
): AuditRow {
  const row = {
    sequence,
    recorded_at: atMs,
    action: event.action,
    actor: event.actor ?? null,
    outcome: event.outcome,
    request_id: event.requestId ?? null,
    remote_address: event.remoteAddress ?? origin?.remoteAddress ?? null,
    origin: writeOrigin(origin),
    objects: canonicalObjects({
      ...event.objects,
      ...(event.concealed === undefined ? {} : conceal(event.concealed)),
    }),
    previous_hash: previousHash,
  };
  return { ...row, hash: hashRow(row, authenticate) };
}
