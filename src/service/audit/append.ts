import type { Kysely } from 'kysely';
import { equalBytes } from '../../core/index.ts';
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
import { writeStart } from './start-row.ts';
import { toJwk } from './statements.ts';

export interface TimedEvent {
  readonly event: AuditEvent;
  readonly atMs: number;
  readonly origin?: AuditOrigin | undefined;
  /** From this row on the chain is keyed. Left out if it is keyed already. */
  readonly beginsKeying?: true;
}

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
  // A chain that is keyed stays so: read once.
  let keyed: ChainState | undefined;

  return async (tx, events) => {
    let { sequence, hash } = (await findLast.first(tx, {})) ?? { sequence: 0, hash: chainStart };
    let state = keyed ?? (await readChainState(tablesOf<AuditTables>(tx), vault));
    const rows: StoredValue[][] = [];
    for (const timed of events) {
      if (timed.beginsKeying && state !== undefined) continue;
      if (timed.beginsKeying)
        state = await beginKeying(tablesOf(tx), vault, { timed, sequence, pending: rows.length });
      const row = toRow(withKey(timed, state), ++sequence, hash, state?.authenticate);
      rows.push(columns.map((column) => row[column]));
      hash = row.hash;
    }
    if (rows.length === 0) return;
    await storage.bulkInsert(tx, { table: 'audit_event', columns, rows });
    storage.afterCommit(tx, () => {
      keyed = state;
    });
  };
}

/** Under the lock of the chain: makes its keys, to be used from the next row on. */
async function beginKeying(
  tx: Kysely<AuditTables>,
  vault: Vault,
  at: { readonly timed: TimedEvent; readonly sequence: number; readonly pending: number },
): Promise<ChainState> {
  const last = await tx
    .selectFrom('audit_event')
    .selectAll()
    .where('sequence', '=', at.sequence - at.pending)
    .executeTakeFirst();
  // A row with a keyed hash, or a changed one: deleting the key's row must not make the rest acceptable.
  if (last !== undefined && !equalBytes(hashRow(last, undefined), last.hash))
    throw new AuditError(
      'AUDIT_CHAIN_RESET',
      `audit event ${last.sequence} is not of a chain without a key: the row that names the key was deleted, or the event was changed`,
    );
  const row = newChainRow(vault, at.sequence + 1, at.timed.atMs);
  await tx.insertInto('audit_chain').values(row).execute();
  const state = openState(row, vault);
  const start = await tx.selectFrom('audit_start').selectAll().executeTakeFirst();
  if (start !== undefined) await writeStart(tx, state, start, new Date(at.timed.atMs));
  return state;
}

/** The first keyed row names the chain and its public key. */
function withKey(timed: TimedEvent, state: ChainState | undefined): TimedEvent {
  if (!timed.beginsKeying || state === undefined) return timed;
  const names = { chain: state.chainId, publicKey: toJwk(state.publicKey).kid };
  return { ...timed, event: { ...timed.event, objects: { ...timed.event.objects, ...names } } };
}

function toRow(
  { event, atMs, origin }: TimedEvent,
  sequence: number,
  previousHash: Uint8Array,
  authenticate: Authenticate | undefined,
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
