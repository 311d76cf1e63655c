import { randomBytes } from 'node:crypto';
import { OperatorsError } from './errors.ts';
import type { OperatorParts } from './operator.ts';
import { createSecretToken, hashSecretToken, longestToken } from './secret-token.ts';
import type { OperatorTables } from './tables.ts';

export type CeremonyKind = OperatorTables['console_ceremony']['kind'];

/** A started sign-in: its challenge, and the token that binds it to one browser. */
export interface Ceremony {
  /** For a cookie; not stored. */
  readonly token: string;
  readonly challenge: string;
  readonly expiresAt: Date;
}

/** Challenges, each valid for one browser, one use and a few minutes. */
export interface Ceremonies {
  /** `challenge` is random if none is given. */
  begin(kind: CeremonyKind, challenge?: string): Promise<Ceremony>;
  /** Consumes it, also if the sign-in fails. Returns its challenge. Throws OPERATORS_CEREMONY_INVALID. */
  take(kind: CeremonyKind, token: string | undefined): Promise<string>;
}

const lifetimeMs = 300_000;
/** Longer than for passkeys: the operator may have to look up a password for the provider. */
const providerLifetimeMs = 600_000;

export function createCeremonies({ storage, clock }: Pick<OperatorParts, 'storage' | 'clock'>): Ceremonies {
  const db = storage.tables<OperatorTables>();
  return {
    async begin(kind, challenge = randomBytes(32).toString('base64url')) {
      const token = createSecretToken();
      const expiresAt = new Date(clock.now().getTime() + (kind === 'oidc' ? providerLifetimeMs : lifetimeMs));
      await db
        .insertInto('console_ceremony')
        .values({ id_hash: hashSecretToken(token), kind, challenge, expires_at: expiresAt.getTime() })
        .execute();
      return { token, challenge, expiresAt };
    },
    async take(kind, token) {
      if (token === undefined || token.length > longestToken) throw invalid('missing');
      // A separate transaction, so that a later failure does not restore it.
      const row = await db
        .deleteFrom('console_ceremony')
        .where('id_hash', '=', hashSecretToken(token))
        .returningAll()
        .executeTakeFirst();
      if (row?.kind !== kind) throw invalid('unknown');
      if (row.expires_at <= clock.now().getTime()) throw invalid('expired');
      return row.challenge;
    },
  };
}

function invalid(reason: string): OperatorsError {
  return new OperatorsError('OPERATORS_CEREMONY_INVALID', `the started sign-in is ${reason}`, {
    fields: { reason: `ceremony ${reason}` },
  });
}
