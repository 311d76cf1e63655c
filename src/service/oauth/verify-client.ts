import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import { readBasicCredentials, type BasicCredentials } from './basic-credentials.ts';
import { findRow } from './client-rows.ts';
import { OauthError } from './errors.ts';
import type { OauthGuards } from './guards.ts';
import { createSalt, findEqualHash, secretCost, type SecretHasher } from './secrets.ts';
import type { OauthTables } from './tables.ts';

/**
 * Cache time of a verified secret, which needs no second hash: longer than a token lives, so that a client
 * that renews its tokens in time always belongs to them. Its row is looked up each time, so a revoked one
 * fails at once.
 */
const verifiedForMs = 2 * 3_600_000;
const maxVerified = 1000;

/** A client that verified one of its secrets. */
export interface VerifiedClient {
  readonly row: OauthTables['oauth_client'];
  readonly secretId: string;
}

/** The credentials of a request, and where they came from. */
export interface PresentedCredentials {
  readonly authorization: string | undefined;
  readonly remoteAddress: string;
}

export interface ClientVerifier {
  /**
   * Throws OAUTH_CLIENT_INVALID, with the same text and after the same work, for an unknown id and for a
   * wrong secret (OAUTH-03). `begin` is called before each slow hash, and may throw. The same credentials
   * that come from the same address meanwhile share the work and its result. Throws INTEGRITY_ROW_CHANGED.
   */
  verify(presented: PresentedCredentials, begin?: () => void): Promise<VerifiedClient>;
  /**
   * True if these credentials were verified recently, or are being verified: no further guess, and no hash of
   * their own.
   */
  isKnown(presented: PresentedCredentials): boolean;
}

export function createClientVerifier(deps: {
  readonly db: Kysely<OauthTables>;
  readonly hasher: SecretHasher;
  readonly clock: Clock;
  readonly guards: OauthGuards;
}): ClientVerifier {
  const unknownSalt = createSalt();
  const verified = createVerifiedSecrets(deps.clock);
  const running = new Map<string, Promise<VerifiedClient>>();

  /** The client; the id of a known client if the secret is wrong; otherwise undefined. */
  async function tryReading(
    reading: BasicCredentials,
    begin: (() => void) | undefined,
  ): Promise<VerifiedClient | string | undefined> {
    const row = await findRow(deps.db, deps.guards, reading.clientId);
    const secrets = await deps.db
      .selectFrom('oauth_secret')
      .selectAll()
      .where('client_id', '=', reading.clientId)
      .execute();
    await deps.guards.secrets.checkAll(secrets);
    const remembered = verified.find(reading);
    if (row !== undefined && secrets.some((secret) => secret.secret_id === remembered))
      return { row, secretId: remembered ?? '' };
    verified.evict(reading);
    const hash = await deps.hasher.hash(
      reading.clientSecret,
      row?.secret_salt ?? unknownSalt,
      row?.secret_cost ?? secretCost,
      begin,
    );
    const secretId = findEqualHash(hash, secrets)?.secret_id;
    if (row === undefined || secretId === undefined) return row?.client_id;
    verified.remember(reading, secretId);
    return { row, secretId };
  }

  async function verifyReadings(
    authorization: string,
    begin: (() => void) | undefined,
  ): Promise<VerifiedClient> {
    let knownId: string | undefined;
    for (const reading of readBasicCredentials(authorization)) {
      // No id has the character NUL, and the database refuses to look for it.
      if (reading.clientId.includes('\0')) continue;
      const client = await tryReading(reading, begin);
      if (typeof client === 'object') return client;
      knownId ??= client;
    }
    throw notAuthenticated(knownId);
  }

  return {
    isKnown: ({ authorization, remoteAddress }) =>
      authorization !== undefined &&
      (running.has(`${remoteAddress} ${authorization}`) ||
        readBasicCredentials(authorization).some((reading) => verified.find(reading) !== undefined)),
    async verify({ authorization, remoteAddress }, begin) {
      if (authorization === undefined) throw notAuthenticated(undefined);
      const key = `${remoteAddress} ${authorization}`;
      const found = running.get(key);
      if (found !== undefined) return found;
      const work = verifyReadings(authorization, begin).finally(() => running.delete(key));
      running.set(key, work);
      return work;
    },
  };
}

/** Only the audit row names the client; the caller gets the same answer in both cases. */
function notAuthenticated(knownId: string | undefined): OauthError {
  return new OauthError('OAUTH_CLIENT_INVALID', 'client authentication failed', {
    fields: { clientId: knownId },
  });
}

/** Caches HMACs of verified secrets under a key of this process; the secrets themselves are not kept. */
function createVerifiedSecrets(clock: Clock): {
  find(reading: BasicCredentials): string | undefined;
  remember(reading: BasicCredentials, secretId: string): void;
  evict(reading: BasicCredentials): void;
} {
  const processKey = createSecretKey(randomBytes(32));
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
      if (entries.size >= maxVerified && oldest !== undefined) entries.delete(oldest);
      entries.set(keyOf(reading), { secretId, untilMs: clock.now().getTime() + verifiedForMs });
    },
    evict: (reading) => void entries.delete(keyOf(reading)),
  };
}
