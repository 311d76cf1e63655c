import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { OperatorsError } from './errors.ts';
import {
  findActiveRow,
  lockOperatorRow,
  signsInElsewhere,
  toIdentity,
  type OperatorIdentity,
  type OperatorParts,
} from './operator.ts';
import { createSecretToken, hashSecretToken, longestToken } from './secret-token.ts';
import type { OperatorTables } from './tables.ts';

type Tx = Kysely<OperatorTables>;

/** A bearer token of an operator, for scripts, as listed. */
export interface TokenEntry {
  readonly id: string;
  readonly label: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface OperatorTokens {
  /** Shown once. Audited. `name` is the operator's, for the audit trail. Throws OPERATORS_EXTERNAL. */
  create(
    operator: { readonly id: string; readonly name: string },
    token: { readonly label: string; readonly lifetimeMs: number },
  ): Promise<{ readonly token: string; readonly entry: TokenEntry }>;
  list(operatorId: string): Promise<readonly TokenEntry[]>;
  /** False if the operator has no such token. */
  revoke(operator: { readonly id: string; readonly name: string }, tokenId: string): Promise<boolean>;
  /**
   * Throws OPERATORS_TOKEN_INVALID for one that is unknown, expired, revoked, or of an operator who is
   * disabled or external.
   */
  find(token: string): Promise<{ readonly operator: OperatorIdentity; readonly entry: TokenEntry }>;
}

/** A prefix by which scanners for leaked secrets recognize the token. */
const prefix = 'openhisp_op_';

export function createOperatorTokens(parts: OperatorParts): OperatorTokens {
  const { storage, clock, audit, guards } = parts;
  const db = storage.tables<OperatorTables>();
  return {
    create: (operator, { label, lifetimeMs }) =>
      storage.transaction(async (tx: Tx) => {
        const owner = await lockOperatorRow(tx, parts, { id: operator.id });
        if (owner?.subject !== null) throw signsInElsewhere(operator.name);
        const token = createSecretToken(prefix);
        const nowMs = clock.now().getTime();
        const row = guards.tokens.withMac({
          id: randomUUID(),
          token_hash: hashSecretToken(token),
          operator_id: operator.id,
          label,
          created_at: nowMs,
          expires_at: nowMs + lifetimeMs,
        });
        await tx.insertInto('console_token').values(row).execute();
        const objects = { operator: operator.name, token: row.id };
        await audit.recordIn(tx, { action: 'operator.token', actor: 'operator', outcome: 'ok', objects });
        return { token, entry: toEntry(row) };
      }),
    async list(operatorId) {
      const rows = await db
        .selectFrom('console_token')
        .selectAll()
        .where('operator_id', '=', operatorId)
        .where('expires_at', '>', clock.now().getTime())
        .orderBy('created_at')
        .execute();
      return (await guards.tokens.checkAll(rows)).map(toEntry);
    },
    revoke: (operator, tokenId) =>
      storage.transaction(async (tx: Tx) => {
        const { numDeletedRows } = await tx
          .deleteFrom('console_token')
          .where('operator_id', '=', operator.id)
          .where('id', '=', tokenId)
          .executeTakeFirst();
        if (numDeletedRows === 0n) return false;
        const objects = { operator: operator.name, token: tokenId };
        await audit.recordIn(tx, {
          action: 'operator.token-revoke',
          actor: 'operator',
          outcome: 'ok',
          objects,
        });
        return true;
      }),
    async find(token) {
      const row =
        token.startsWith(prefix) && token.length <= longestToken
          ? await db
              .selectFrom('console_token')
              .selectAll()
              .where('token_hash', '=', hashSecretToken(token))
              .executeTakeFirst()
          : undefined;
      const isLive = row !== undefined && (await guards.tokens.check(row)).expires_at > clock.now().getTime();
      const operator = isLive ? await findActiveRow(db, parts, row.operator_id) : undefined;
      if (row === undefined || operator?.subject !== null)
        throw new OperatorsError('OPERATORS_TOKEN_INVALID', 'the token is unknown, expired or revoked');
      return { operator: toIdentity(operator), entry: toEntry(row) };
    },
  };
}

function toEntry(row: OperatorTables['console_token']): TokenEntry {
  return {
    id: row.id,
    label: row.label,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
  };
}
