import type { Kysely } from 'kysely';
import { OperatorsError } from './errors.ts';
import { lockActiveRow, lockOperatorRow, signsInElsewhere, type OperatorParts } from './operator.ts';
import { createSecretToken, hashSecretToken, longestToken } from './secret-token.ts';
import type { LinkPurpose, OperatorTables } from './tables.ts';

type Tx = Kysely<OperatorTables>;
export type LinkRow = OperatorTables['console_link'];

/**
 * `enrol` registers a passkey and may be sent to its operator; `sign-in` starts a session and is made by an
 * administrator on the server.
 */
const linkLifetimesMs: Readonly<Record<LinkPurpose, number>> = {
  enrol: 86_400_000,
  'sign-in': 600_000,
};

export interface IssuedLink {
  /** Placed after `#enter=` in the console's address, which is not sent to servers or logged. */
  readonly token: string;
  readonly purpose: LinkPurpose;
  readonly expiresAt: Date;
}

export interface Links {
  /**
   * Revokes earlier unused links of the same purpose. Audited. Throws OPERATORS_EXTERNAL. `name` is the
   * operator's, for the audit trail.
   */
  create(operatorId: string, name: string, purpose: LinkPurpose): Promise<IssuedLink>;
  /**
   * The link as it is, unused, and its operator locked. Throws OPERATORS_LINK_INVALID for one that is
   * unknown, expired, used, or of a disabled operator.
   */
  requireIn(tx: Tx, token: string): Promise<LinkRow>;
  /** Marks it as used. Throws OPERATORS_LINK_INVALID if it is already used. */
  useIn(tx: Tx, row: LinkRow): Promise<void>;
}

export function createLinks({
  storage,
  clock,
  audit,
  guards,
  ownership,
  openIdIssuer,
}: OperatorParts): Links {
  return {
    create: (operatorId, name, purpose) =>
      storage.transaction(async (tx: Tx) => {
        const operator = await lockOperatorRow(tx, { storage, guards }, { id: operatorId });
        if (operator?.subject !== null) throw signsInElsewhere(name);
        await tx
          .deleteFrom('console_link')
          .where('operator_id', '=', operatorId)
          .where('purpose', '=', purpose)
          .where('used_at', 'is', null)
          .execute();
        const token = createSecretToken();
        const nowMs = clock.now().getTime();
        const row = guards.links.withMac({
          token_hash: hashSecretToken(token),
          operator_id: operatorId,
          purpose,
          created_at: nowMs,
          expires_at: nowMs + linkLifetimesMs[purpose],
          used_at: null,
        });
        await tx.insertInto('console_link').values(row).execute();
        const objects = { operator: name, purpose };
        await audit.recordIn(tx, { action: 'operator.link', actor: 'operator', outcome: 'ok', objects });
        return { token, purpose, expiresAt: new Date(row.expires_at) };
      }),
    async requireIn(tx, token) {
      if (token.length > longestToken) throw invalid('unknown');
      const query = tx
        .selectFrom('console_link')
        .selectAll()
        .where('token_hash', '=', hashSecretToken(token));
      const found = await query.executeTakeFirst();
      if (found === undefined) throw invalid('unknown');
      const operator = await lockActiveRow(
        tx,
        { storage, guards, ownership, openIdIssuer },
        found.operator_id,
      );
      // Read again under the lock, after any concurrent use or replacement.
      const row = await query.executeTakeFirst();
      if (row === undefined) throw invalid('unknown');
      await guards.links.check(row);
      if (row.used_at !== null) throw invalid('used');
      if (row.expires_at <= clock.now().getTime()) throw invalid('expired');
      if (operator === undefined) throw invalid('disabled');
      return row;
    },
    async useIn(tx, { mac: _old, ...row }) {
      const used = guards.links.withMac({ ...row, used_at: clock.now().getTime() });
      const { numUpdatedRows } = await tx
        .updateTable('console_link')
        .set(used)
        .where('token_hash', '=', row.token_hash)
        .where('used_at', 'is', null)
        .executeTakeFirst();
      if (numUpdatedRows !== 1n) throw invalid('used');
    },
  };
}

function invalid(reason: string): OperatorsError {
  return new OperatorsError('OPERATORS_LINK_INVALID', `the link is ${reason}`, { fields: { reason } });
}
