import type { Kysely } from 'kysely';
import { equalBytes, toHex } from '../../core/index.ts';
import type { Vault } from '../../platform/index.ts';
import { hashRow, type AuditRow, type AuditTables } from './chain.ts';
import { requireChainState, type ChainState } from './chain-state.ts';
import { AuditError } from './errors.ts';
import { readStart, type Start } from './start-row.ts';
import { readStatement, statementTypes, type Checkpoint } from './statements.ts';

/** A chain that was verified from its first kept row to its end. */
export interface VerifiedChain {
  readonly eventCount: number;
  readonly firstSequence: number | undefined;
  readonly lastSequence: number | undefined;
  /** Hex. */
  readonly lastHash: string | undefined;
  /** Number of checkpoints that the chain was compared with. */
  readonly checkpointCount: number;
  /** The last row that a checkpoint covers: a missing row after it does not show. */
  readonly coveredTo: number | undefined;
}

export interface VerifyOptions {
  readonly db: Kysely<AuditTables>;
  readonly vault: Vault;
  /** Checkpoints that were kept elsewhere, as compact JWS, in any order. */
  readonly checkpoints?: readonly string[] | undefined;
}

/**
 * Walks the chain from its first kept row. Throws AUDIT_CHAIN_BROKEN naming the first row that was changed or
 * before which one is missing, or the checkpoint that names a row that is not there, and
 * AUDIT_STATEMENT_INVALID for a checkpoint that is not signed by the key of this chain.
 */
export async function verifyChain({ db, vault, checkpoints = [] }: VerifyOptions): Promise<VerifiedChain> {
  const state = await requireChainState(db, vault);
  const start = await readStart(db, state);
  const expected = await readExpected(db, state, checkpoints);
  const left = new Map(expected);
  let first: AuditRow | undefined;
  let last: AuditRow | undefined;
  let eventCount = 0;
  for await (const row of db.selectFrom('audit_event').selectAll().orderBy('sequence').stream(1000)) {
    if (first === undefined) await requireStart(db, state, row, start);
    first ??= row;
    if (last !== undefined) requireSuccessor(last, row);
    requireHash(row, state);
    const hash = left.get(row.sequence);
    if (hash !== undefined && hash !== toHex(row.hash)) throw broken(row, 'is not the one of its checkpoint');
    left.delete(row.sequence);
    last = row;
    eventCount++;
  }
  requireEnd(left, last, Number((await readStart(db, state)).sequence));
  return {
    eventCount,
    firstSequence: first?.sequence,
    lastSequence: last?.sequence,
    lastHash: last === undefined ? undefined : toHex(last.hash),
    checkpointCount: expected.size,
    coveredTo: expected.size === 0 ? undefined : Math.max(...expected.keys()),
  };
}

/** Hashes by row that the checkpoints name: those given, and the newest one of the database. */
async function readExpected(
  db: Kysely<AuditTables>,
  state: ChainState,
  exported: readonly string[],
): Promise<ReadonlyMap<number, string>> {
  const expected = new Map<number, string>();
  const stored = await db.selectFrom('audit_checkpoint').select('statement').executeTakeFirst();
  for (const statement of stored === undefined ? exported : [...exported, stored.statement]) {
    const { chain, last } = await readStatement<Checkpoint>(
      statementTypes.checkpoint,
      statement,
      state.publicKey,
    );
    const known = expected.get(last.sequence) ?? last.hash;
    if (chain !== state.chainId || known !== last.hash)
      throw new AuditError(
        'AUDIT_CHAIN_BROKEN',
        `a checkpoint of event ${last.sequence} is of another chain`,
      );
    expected.set(last.sequence, last.hash);
  }
  return expected;
}

function requireHash(row: AuditRow, { authenticate }: ChainState): void {
  if (!equalBytes(hashRow(row, authenticate), row.hash))
    throw broken(row, 'was changed, or written without the key');
}

// Old rows may be deleted while the walk begins; then the start that was noted with it fits.
async function requireStart(
  db: Kysely<AuditTables>,
  state: ChainState,
  row: AuditRow,
  start: Start,
): Promise<void> {
  for (const known of [start, await readStart(db, state)]) {
    if (Number(known.sequence) === row.sequence && equalBytes(known.previous_hash, row.previous_hash)) return;
  }
  throw broken(row, 'is not where the chain begins: events before it are missing');
}

function requireSuccessor(last: AuditRow, row: AuditRow): void {
  if (row.sequence !== last.sequence + 1) throw broken(row, 'does not follow its predecessor');
  if (!equalBytes(row.previous_hash, last.hash)) throw broken(row, 'does not continue the chain');
}

/**
 * `left`: rows named by checkpoints that the walk did not find. Rows that were deleted for their age may be
 * missing.
 */
function requireEnd(left: ReadonlyMap<number, string>, last: AuditRow | undefined, firstKept: number): void {
  if (last === undefined)
    throw new AuditError('AUDIT_CHAIN_BROKEN', 'the audit chain is empty: its events were deleted');
  const missing = [...left.keys()].filter((sequence) => sequence >= firstKept).sort((a, b) => a - b)[0];
  if (missing === undefined) return;
  throw new AuditError(
    'AUDIT_CHAIN_BROKEN',
    `audit events after ${last.sequence} are missing: a checkpoint names event ${missing}`,
    { fields: { sequence: missing } },
  );
}

function broken(row: AuditRow, how: string): AuditError {
  return new AuditError('AUDIT_CHAIN_BROKEN', `audit event ${row.sequence} ${how}`, {
    fields: { sequence: row.sequence },
  });
}
