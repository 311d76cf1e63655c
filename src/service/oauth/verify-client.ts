import { createHmac, randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { readBasicCredentials, type BasicCredentials } from './basic-credentials.ts';
import { OauthError } from './errors.ts';
import { createSalt, findEqualHash, secretCost, type SecretHasher } from './secrets.ts';
import type { OauthTables } from './tables.ts';

/**
 * How long a proved secret needs no second hash: longer than a token lives, so that a client that renews its tokens in time
 * always belongs to them. Its row is looked up each time, so a revoked one fails at once.
 */
const provedForMs = 2 * 3_600_000;
const maxProved = 1000;

/** A client that proved one of its secrets. */
export interface VerifiedClient {
  readonly row: OauthTables['oauth_client'];
  readonly secretId: string;
}

export interface ClientVerifier {
  /**
   * Throws OAUTH_CLIENT_INVALID, with the same text and after the same work, for an unknown id and for a wrong secret
   * (OAUTH-03).
   */
  verify(authorization: string | undefined): Promise<VerifiedClient>;
  /** True if these very credentials were proved lately: neither a guess nor work. */
  isProved(authorization: string | undefined): boolean;
}

export function createClientVerifier(parts: {
  readonly db: Kysely<OauthTables>;
  readonly hasher: SecretHasher;
  readonly clock: Clock;
}): ClientVerifier {
  const unknownSalt = createSalt();
  const proved = createProvedSecrets(parts.clock);

  /** The client, or the id of a known client whose secret this is not, or undefined. */
  async function tryReading(reading: BasicCredentials): Promise<VerifiedClient | string | undefined> {
    const row = await parts.db
      .selectFrom('oauth_client')
      .selectAll()
      .where('client_id', '=', reading.clientId)
      .executeTakeFirst();
    const secrets = await parts.db
      .selectFrom('oauth_secret')
      .selectAll()
      .where('client_id', '=', reading.clientId)
      .execute();
    const remembered = proved.find(reading);
    if (row !== undefined && secrets.some((secret) => secret.secret_id === remembered))
      return { row, secretId: remembered ?? '' };
    proved.forget(reading);
    const hash = await parts.hasher.hash(
      reading.clientSecret,
      row?.secret_salt ?? unknownSalt,
      row?.secret_cost ?? secretCost,
    );
    const secretId = findEqualHash(hash, secrets);
    if (row === undefined || secretId === undefined) return row?.client_id;
    proved.remember(reading, secretId);
    return { row, secretId };
  }

  return {
    isProved: (authorization) =>
      authorization !== undefined &&
      readBasicCredentials(authorization).some((reading) => proved.find(reading) !== undefined),
    async verify(authorization) {
      let knownId: string | undefined;
      for (const reading of authorization === undefined ? [] : readBasicCredentials(authorization)) {
        const client = await tryReading(reading);
        if (typeof client === 'object') return client;
        knownId ??= client;
      }
      // Which client was meant is for the audit row alone; the caller is told the same either way.
      throw new OauthError('OAUTH_CLIENT_INVALID', 'client authentication failed', {
        fields: { clientId: knownId },
      });
    },
  };
}

/** Remembers proved secrets under a key that lives and dies with the process; the secrets themselves are not kept. */
function createProvedSecrets(clock: Clock): {
  find(reading: BasicCredentials): string | undefined;
  remember(reading: BasicCredentials, secretId: string): void;
  forget(reading: BasicCredentials): void;
} {
  const processKey = randomBytes(32);
  const entries = new Map<string, { readonly secretId: string; readonly untilMs: number }>();
  const keyOf = ({ clientId, clientSecret }: BasicCredentials): string =>
    createHmac('sha256', processKey).update(`${clientId}\0${clientSecret}`).digest('base64');
  return {
    find(reading) {
      const entry = entries.get(keyOf(reading));
      return entry !== undefined && entry.untilMs > clock.now().getTime() ? entry.secretId : undefined;
    },
    remember(reading, secretId) {
      const [oldest] = entries.keys();
      if (entries.size >= maxProved && oldest !== undefined) entries.delete(oldest);
      entries.set(keyOf(reading), { secretId, untilMs: clock.now().getTime() + provedForMs });
    },
    forget: (reading) => void entries.delete(keyOf(reading)),
  };
}
