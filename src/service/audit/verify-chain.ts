import type { Kysely } from 'kysely';
import { equalBytes, toHex } from '../../core/index.ts';
import { hashRow, type AuditRow, type AuditTables } from './chain.ts';
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
  let first: AuditRow | undefined;
  let last: AuditRow | undefined;
  let eventCount = 0;
  for await (const row of db.selectFrom('audit_event').selectAll().orderBy('sequence').stream(1000)) {
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

function requireSuccessor(last: AuditRow, row: AuditRow): void {
  if (row.sequence !== last.sequence + 1) throw broken(row, 'does not follow its predecessor');
  if (!equalBytes(row.previous_hash, last.hash)) throw broken(row, 'does not continue the chain');
}

function broken(row: AuditRow, how: string): AuditError {
  return new AuditError('AUDIT_CHAIN_BROKEN', `audit event ${row.sequence} ${how}`, {
    fields: { sequence: row.sequence },
  });
}
