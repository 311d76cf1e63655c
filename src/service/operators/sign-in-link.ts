import { isIPv4 } from 'node:net';
import type { Kysely } from 'kysely';
import { OperatorsError } from './errors.ts';
import type { Links } from './links.ts';
import { findActiveRow, toIdentity, type OperatorIdentity, type OperatorParts } from './operator.ts';
import { createSecretToken, hashSecretToken } from './secret-token.ts';
import type { Sessions, SignInSource, StartedSession } from './sessions.ts';
import type { OperatorTables } from './tables.ts';

/** The result of a link: a session, or the passkey registration that must come first. */
export type LinkAnswer =
  | { readonly kind: 'signed-in'; readonly session: StartedSession }
  | { readonly kind: 'enrol'; readonly operator: OperatorIdentity; readonly expiresAt: Date };

export interface LinkSignIn {
  /** Throws OPERATORS_LINK_INVALID. */
  enter(token: string, source: SignInSource): Promise<LinkAnswer>;
  /**
   * Creates a link that works from this machine, any number of times, until the process ends: for the
   * sandbox, which prints it. It is kept in memory only. Returns its token.
   */
  openStanding(operatorId: string): string;
}

export function createLinkSignIn(
  parts: OperatorParts & { readonly links: Links; readonly sessions: Sessions },
): LinkSignIn {
  const { storage, audit, links, sessions } = parts;
  /** Operators by the hash of their reusable link. */
  const standing = new Map<string, string>();

  async function signIn(tx: Kysely<OperatorTables>, operatorId: string, source: SignInSource) {
    const session = await sessions.startIn(tx, operatorId, 'link', source);
    await audit.recordIn(tx, {
      action: 'console.sign-in',
      actor: session.operator.actor,
      outcome: 'ok',
      objects: { method: 'link', session: session.sessionId },
      requestId: source.requestId,
      remoteAddress: source.remoteAddress,
    });
    return { kind: 'signed-in', session } as const;
  }

  return {
    async enter(token, source) {
      const held = standing.get(hashSecretToken(token).toString('hex'));
      if (held !== undefined && isThisMachine(source.remoteAddress))
        return storage.transaction((tx: Kysely<OperatorTables>) => signIn(tx, held, source));
      return storage.transaction(async (tx: Kysely<OperatorTables>): Promise<LinkAnswer> => {
        const row = await links.requireIn(tx, token);
        if (row.purpose === 'sign-in') {
          await links.useIn(tx, row);
          return signIn(tx, row.operator_id, source);
        }
        // The link is consumed by the registration, so that reloading the page does not lock the operator
        // out.
        const operator = await findActiveRow(tx, parts, row.operator_id);
        if (operator === undefined) throw new OperatorsError('OPERATORS_LINK_INVALID', 'disabled');
        return { kind: 'enrol', operator: toIdentity(operator), expiresAt: new Date(row.expires_at) };
      });
    },
    openStanding(operatorId) {
      const token = createSecretToken();
      standing.set(hashSecretToken(token).toString('hex'), operatorId);
      return token;
    },
  };
}

function isThisMachine(address: string): boolean {
  const plain = address.replace(/^::ffff:/, '');
  return plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'));
}
