import type { Kysely } from 'kysely';
import { equalBytes, toHex } from '../../core/index.ts';
import { chainStart, hashRow, type AuditRow, type AuditStartRow, type AuditTables } from './chain.ts';
import { AuditError } from './errors.ts';

/** A chain that was proved whole. Note `lastHash` elsewhere from time to time: it shows a cut-off end later. */
export interface ChainReport {
  readonly eventCount: number;
  readonly firstSequence: number | undefined;
  readonly lastSequence: number | undefined;
  /** Hex. */
  readonly lastHash: string | undefined;
}

/**
 * Walks the chain from its first kept row. Throws AUDIT_CHAIN_BROKEN naming the first row that was changed, or before
 * which one is missing.
 */
export async function verifyChain(db: Kysely<AuditTables>): Promise<ChainReport> {
  const start = await findStart(db);
  let first: AuditRow | undefined;
  let last: AuditRow | undefined;
  let eventCount = 0;
  for await (const row of db.selectFrom('audit_event').selectAll().orderBy('sequence').stream(1000)) {
    if (first === undefined) await requireStart(db, row, start);
    first ??= row;
    if (last !== undefined) requireSuccessor(last, row);
    if (!equalBytes(hashRow(row), row.hash)) throw broken(row, 'was changed');
    last = row;
    eventCount++;
  }
  return {
    eventCount,
    firstSequence: first?.sequence,
    lastSequence: last?.sequence,
    lastHash: last === undefined ? undefined : toHex(last.hash),
  };
}

type Start = Pick<AuditStartRow, 'sequence' | 'previous_hash'>;

async function findStart(db: Kysely<AuditTables>): Promise<Start> {
  const start = await db.selectFrom('audit_start').select(['sequence', 'previous_hash']).executeTakeFirst();
  return start ?? { sequence: 1, previous_hash: chainStart };
}

// Old rows may be deleted while the walk begins; then the start that was noted with it fits.
async function requireStart(db: Kysely<AuditTables>, row: AuditRow, start: Start): Promise<void> {
  for (const known of [start, await findStart(db)]) {
    if (Number(known.sequence) === row.sequence && equalBytes(known.previous_hash, row.previous_hash)) return;
  }
  throw broken(row, 'is not where the chain begins');
}

function requireSuccessor(last: AuditRow, row: AuditRow): void {
  if (row.sequence !== last.sequence + 1) throw broken(row, 'does not follow its predecessor');
  if (!equalBytes(row.previous_hash, last.hash)) throw broken(row, 'does not continue the chain');
}

function broken(row: AuditRow, how: string): AuditError {
  return new AuditError('AUDIT_CHAIN_BROKEN', `audit event ${row.sequence} ${how}`, {
    fields: { sequence: row.sequence },
  });
}
