import { hash as hashOf, randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '../../core/index.ts';
import type { ClientIdentity } from './client.ts';
import { findRow, readClientRow } from './client-rows.ts';
import { OauthError } from './errors.ts';
import type { OauthGuards } from './guards.ts';
import type { OauthTables } from './tables.ts';

/** Directory spec: Limits; Messaging spec: Authentication. Not configurable. */
export const tokenLifetimeSeconds = 3600;
/** 256 bits (OAUTH-11). */
const tokenBytes = 32;

/** Cache time of a checked token: the maximum delay of a revocation on other nodes. */
const cachedForMs = 5000;
const maxCached = 10_000;
/** Longer than any issued token; longer values are refused without hashing. */
const longestToken = 200;

export interface NewToken {
  readonly token: string;
  readonly row: OauthTables['oauth_token'];
}

export interface TokenStore {
  create(clientId: string, secretId: string, scopes: readonly string[]): NewToken;
  /** Throws OAUTH_TOKEN_INVALID for an unknown, expired or revoked token, and INTEGRITY_ROW_CHANGED. */
  find(token: string): Promise<ClientIdentity>;
  /** Evicts the cached tokens of a client, or of all clients. */
  evict(clientId?: string): void;
}

interface CachedToken {
  readonly identity: ClientIdentity;
  readonly expiresAtMs: number;
  readonly untilMs: number;
}

export function createTokenStore({
  db,
  clock,
  guards,
}: {
  readonly db: Kysely<OauthTables>;
  readonly clock: Clock;
  readonly guards: OauthGuards;
}): TokenStore {
  const cached = new Map<string, CachedToken>();
  // What was read before an eviction is not cached: it may be older than the change.
  let evictions = 0;

  async function lookup(hash: Buffer): Promise<CachedToken | undefined> {
    const row = await db
      .selectFrom('oauth_token')
      .selectAll()
      .where('token_hash', '=', hash)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    await guards.tokens.check(row);
    const client = await findRow(db, guards, row.client_id);
    if (client === undefined || client.disabled_at !== null) return undefined;
    const allowed = readClientRow(client);
    const scopes = row.scopes.split(' ').filter((scope) => allowed.scopes.includes(scope));
    return {
      identity: { ...allowed, scopes },
      expiresAtMs: row.expires_at,
      untilMs: clock.now().getTime() + cachedForMs,
    };
  }

  return {
    create(clientId, secretId, scopes) {
      const token = randomBytes(tokenBytes).toString('base64url');
      const nowMs = clock.now().getTime();
      const row = guards.tokens.withMac({
        token_hash: hashToken(token),
        client_id: clientId,
        scopes: scopes.join(' '),
        secret_id: secretId,
        issued_at: nowMs,
        expires_at: nowMs + tokenLifetimeSeconds * 1000,
      });
      return { token, row };
    },
    async find(token) {
      if (token.length > longestToken) throw invalidToken();
      const hash = hashToken(token);
      const key = hash.toString('base64');
      const nowMs = clock.now().getTime();
      let entry = cached.get(key);
      // A clock that was set back must not keep a revoked token.
      if (entry === undefined || entry.untilMs <= nowMs || entry.untilMs > nowMs + cachedForMs) {
        cached.delete(key);
        const startedIn = evictions;
        entry = await lookup(hash);
        if (entry === undefined) throw invalidToken();
        if (cached.size >= maxCached) cached.clear();
        if (startedIn === evictions) cached.set(key, entry);
      }
      // Expired at 3600 s sharp (OAUTH-10).
      if (nowMs >= entry.expiresAtMs) throw invalidToken();
      return entry.identity;
    },
    evict(clientId) {
      evictions++;
      for (const [key, entry] of cached) {
        if (clientId === undefined || entry.identity.clientId === clientId) cached.delete(key);
      }
    },
  };
}

export function hashToken(token: string): Buffer {
  return hashOf('sha256', token, 'buffer');
}

function invalidToken(): OauthError {
  return new OauthError('OAUTH_TOKEN_INVALID', 'the token is unknown, expired or revoked');
}
