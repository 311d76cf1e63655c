import { equalBytes, toHex, type Clock } from '../../core/index.ts';
import type { Storage, Vault } from '../../platform/index.ts';
import type { AuditTables } from './chain.ts';
import { requireChainState } from './chain-state.ts';
import { AuditError } from './errors.ts';
import { readStart } from './start-row.ts';
import { readStatement, signStatement, statementTypes, type Checkpoint } from './statements.ts';

/** A checkpoint as it is kept elsewhere. */
export interface SignedCheckpoint {
  readonly checkpoint: Checkpoint;
  /** Compact JWS. */
  readonly statement: string;
}

export interface CheckpointOptions {
  /** No new checkpoint while the newest one is younger: several nodes take turns. */
  readonly leastAgeMs?: number;
}

interface Options {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
}

/**
 * Signs the end of the chain, unless the newest checkpoint does. Undefined then. Throws AUDIT_CHAIN_BROKEN if
 * the row that the newest checkpoint names is missing.
 */
export async function signCheckpoint({
  storage,
  vault,
  clock,
  leastAgeMs = 0,
}: Options & CheckpointOptions): Promise<SignedCheckpoint | undefined> {
  const db = storage.tables<AuditTables>();
  const state = await requireChainState(db, vault);
  // Read before the start of the chain: a deletion of old rows in between only moves the start forward.
  const firstKept = await findFirst(storage);
  const start = await readStart(db, state);
  const previous = await readCheckpoint({ storage, vault });
  const end = await db
    .selectFrom('audit_event')
    .select(['sequence', 'hash'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (end === undefined || firstKept === undefined)
    throw new AuditError('AUDIT_CHAIN_BROKEN', 'the audit chain is empty');
  if (firstKept > Number(start.sequence))
    throw new AuditError('AUDIT_CHAIN_BROKEN', `audit events before ${firstKept} are missing`, {
      fields: { sequence: firstKept },
    });
  if (previous !== undefined) await requireRow(storage, previous.checkpoint, Number(start.sequence));
  if (previous?.checkpoint.last.sequence === end.sequence) return undefined;
  if (previous !== undefined && clock.now().getTime() - Date.parse(previous.checkpoint.time) < leastAgeMs)
    return undefined;
  const checkpoint: Checkpoint = {
    chain: state.chainId,
    time: clock.now().toISOString(),
    first: { sequence: Number(start.sequence), previousHash: toHex(start.previous_hash) },
    last: { sequence: end.sequence, hash: toHex(end.hash) },
  };
  const statement = await signStatement(statementTypes.checkpoint, checkpoint, {
    pkcs8: state.openPrivateKey(),
    publicKey: state.publicKey,
  });
  await db
    .insertInto('audit_checkpoint')
    .values({ id: 1, statement })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ statement }))
    .execute();
  return { checkpoint, statement };
}

/** The newest checkpoint. Throws AUDIT_STATEMENT_INVALID if it is not signed by the key of the chain. */
export async function readCheckpoint({
  storage,
  vault,
}: Pick<Options, 'storage' | 'vault'>): Promise<SignedCheckpoint | undefined> {
  const db = storage.tables<AuditTables>();
  const row = await db.selectFrom('audit_checkpoint').select('statement').executeTakeFirst();
  if (row === undefined) return undefined;
  const { statement } = row;
  const { publicKey } = await requireChainState(db, vault);
  const checkpoint = await readStatement<Checkpoint>(statementTypes.checkpoint, statement, publicKey);
  return { checkpoint, statement };
}

async function findFirst(storage: Storage): Promise<number | undefined> {
  const row = await storage
    .tables<AuditTables>()
    .selectFrom('audit_event')
    .select('sequence')
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst();
  return row?.sequence;
}

async function requireRow(storage: Storage, { last }: Checkpoint, firstKept: number): Promise<void> {
  if (last.sequence < firstKept) return;
  const row = await storage
    .tables<AuditTables>()
    .selectFrom('audit_event')
    .select('hash')
    .where('sequence', '=', last.sequence)
    .executeTakeFirst();
  if (row !== undefined && equalBytes(row.hash, Buffer.from(last.hash, 'hex'))) return;
  throw new AuditError(
    'AUDIT_CHAIN_BROKEN',
    `audit event ${last.sequence}, which the last checkpoint names, is missing or another one`,
    { fields: { sequence: last.sequence } },
  );
}
