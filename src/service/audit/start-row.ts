import type { Kysely } from 'kysely';
import { equalBytes, toHex } from '../../core/index.ts';
import { chainStart, type AuditStartRow, type AuditTables } from './chain.ts';
import type { ChainState } from './chain-state.ts';
import { AuditError } from './errors.ts';
import { readStatement, signStatement, statementTypes, type StartStatement } from './statements.ts';

/** The first row that is kept. */
export type Start = Pick<AuditStartRow, 'sequence' | 'previous_hash'>;

/** Notes, signed, where the kept rows begin. */
export async function writeStart(
  tx: Kysely<AuditTables>,
  state: ChainState,
  { sequence, previous_hash }: Start,
  now: Date,
): Promise<void> {
  const first = { sequence: Number(sequence), previousHash: toHex(previous_hash) };
  const statement = await sign(state, { chain: state.chainId, time: now.toISOString(), first });
  const values = { sequence, previous_hash, statement };
  await tx
    .insertInto('audit_start')
    .values({ id: 1, ...values })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
    .execute();
}

/** Start of the kept rows. Throws AUDIT_CHAIN_BROKEN unless it matches its signed statement. */
export async function readStart(db: Kysely<AuditTables>, state: ChainState): Promise<Start> {
  const row = await db.selectFrom('audit_start').selectAll().executeTakeFirst();
  if (row === undefined) return { sequence: 1, previous_hash: chainStart };
  await requireStatement(row, state);
  return row;
}

function sign(state: ChainState, statement: StartStatement): Promise<string> {
  const key = { pkcs8: state.openPrivateKey(), publicKey: state.publicKey };
  return signStatement(statementTypes.start, statement, key);
}

async function requireStatement(row: AuditStartRow, state: ChainState): Promise<void> {
  const { chain, first } = await readStatement<StartStatement>(
    statementTypes.start,
    row.statement,
    state.publicKey,
  );
  const saysTheSame =
    chain === state.chainId &&
    first.sequence === Number(row.sequence) &&
    equalBytes(Buffer.from(first.previousHash, 'hex'), row.previous_hash);
  if (!saysTheSame)
    throw new AuditError(
      'AUDIT_CHAIN_BROKEN',
      'the beginning of the audit chain is not the one that was signed when old events were deleted',
    );
}
