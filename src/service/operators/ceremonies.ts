import { randomBytes } from 'node:crypto';
import { OperatorsError } from './errors.ts';
import type { OperatorParts } from './operator.ts';
import { createSecretToken, hashSecretToken, longestToken } from './secret-token.ts';
import type { OperatorTables } from './tables.ts';

export type CeremonyKind = OperatorTables['console_ceremony']['kind'];

/** A sign-in that has begun: what it is held to, and the token that ties it to one browser. */
export interface Ceremony {
  /** For a cookie; stored nowhere. */
  readonly token: string;
  readonly challenge: string;
  readonly expiresAt: Date;
}

/** Challenges, each for one browser, one use and a few minutes. */
export interface Ceremonies {
  /** `challenge` is random if none is given. */
  begin(kind: CeremonyKind, challenge?: string): Promise<Ceremony>;
  /** Uses it up, whatever comes of it. Returns its challenge. Throws OPERATORS_CEREMONY_INVALID. */
  take(kind: CeremonyKind, token: string | undefined): Promise<string>;
}

const lifetimeMs = 300_000;
/** At the provider a password may have to be looked up. */
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
      // Its own transaction, so that a failure after this does not bring it back.
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
  return new OperatorsError('OPERATORS_CEREMONY_INVALID', `the sign-in that this ends is ${reason}`, {
    fields: { reason: `ceremony ${reason}` },
  });
}
