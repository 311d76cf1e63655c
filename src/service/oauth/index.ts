/**
 * Client authentication: clients and their secrets, the token endpoint's client credentials grant, and the
 * bearer check.
 *
 * Standards: RFC 6749 §2.3.1, §3.3, §4.4 and §5, RFC 6750 §2.1 and §3, RFC 7009, RFC 7617; OAUTH-01 to
 * OAUTH-14 and Decision 0006. Tokens are opaque and stored as SHA-256 only; secrets are stored under scrypt.
 * Neither is in any log, error or audit row.
 *
 * Not supported: other grants, refresh tokens, JSON Web Tokens, introspection, client authentication in the
 * body. Called by the HTTP edge (token endpoint, bearer check), by every service that asks whose address it
 * is, and by the command line.
 */
export { createOauth, type Oauth } from './create-oauth.ts';
export { canSendAs, type Client, type ClientIdentity, type ClientLimits } from './client.ts';
export type { ClientStore, IssuedCredentials, NewClient } from './client-store.ts';
export type { ClientSettings } from './client-settings.ts';
export type { AttemptLimits } from './attempts.ts';
export type { TokenRequest } from './token-endpoint.ts';
export { tokenLifetimeSeconds } from './token-store.ts';
export { createSalt, createSlowHasher, findEqualHash, secretCost, type SlowHasher } from './secrets.ts';
export { readClientOwners } from './client-rows.ts';
export { createFindHolder, type FindHolder } from './find-holder.ts';
export { scopeNames, usualScopes, type Scope } from './scopes.ts';
export { oauthGuardedTables } from './guards.ts';
export type { OauthErrorCode } from './errors.ts';
