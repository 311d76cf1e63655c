import type { Clock } from '../../core/index.ts';
import { defaultSettings, type Storage, type Vault } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import { createOrganizationsGuards, createOwnership } from '../organizations/index.ts';
import { type AttemptLimits, createAttemptGuard } from './attempts.ts';
import { type ClientStore, clientTopic, createClientStore } from './client-store.ts';
import type { ClientIdentity } from './client.ts';
import { OauthError } from './errors.ts';
import { createOauthGuards } from './guards.ts';
import type { Scope } from './scopes.ts';
import { createSecretHasher } from './secrets.ts';
import type { OauthTables } from './tables.ts';
import {
  type IssuedToken,
  issueToken,
  revokeToken,
  type TokenEndpointDependencies,
  type TokenRequest,
} from './token-endpoint.ts';
import { createTokenStore } from './token-store.ts';
import { createClientVerifier } from './verify-client.ts';

export interface OauthOptions {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly limits?: AttemptLimits;
  /** Decision 0006: also take grant_type and scope from the query. */
  readonly acceptsQueryParameters?: boolean;
}

export interface Oauth {
  issueToken(request: TokenRequest): Promise<IssuedToken>;
  revokeToken(request: TokenRequest): Promise<void>;
  /**
   * The caller, verified by the bearer token of the `Authorization` header, with the required scope. Throws
   * OAUTH_TOKEN_MISSING, OAUTH_TOKEN_MALFORMED, OAUTH_TOKEN_INVALID or OAUTH_SCOPE_INSUFFICIENT.
   */
  authenticate(authorization: string | undefined, scope: Scope): Promise<ClientIdentity>;
  readonly clients: ClientStore;
  /** The clients for one operator, such as `operator:alice`, whom the audit trail names. */
  as(actor: string): ClientStore;
  /**
   * Issue times of the newest stored token of each of a few hundred clients; those without one are absent.
   */
  findLastTokens(clientIds: readonly string[]): Promise<ReadonlyMap<string, Date>>;
}

export function createOauth(options: OauthOptions): Oauth {
  const { storage, clock, audit } = options;
  const db = storage.tables<OauthTables>();
  const hasher = createSecretHasher();
  const guards = createOauthGuards(options);
  const ownership = createOwnership({ storage, guards: createOrganizationsGuards(options) });
  const tokens = createTokenStore({ db, clock, guards });
  // A client that an operator disables on another node is refused here at once. An announcement can be lost:
  // then its tokens end with the cache.
  storage.onAnnounced(clientTopic, () => tokens.evict());
  const deps: TokenEndpointDependencies = {
    storage,
    clock,
    audit,
    tokens,
    verifier: createClientVerifier({ db, hasher, clock, guards }),
    guard: createAttemptGuard(options.limits ?? defaultSettings.oauth, clock),
    acceptsQueryParameters: options.acceptsQueryParameters ?? false,
  };
  const openClients = (named: Audit): ClientStore =>
    createClientStore({
      storage,
      clock,
      audit: named,
      hasher,
      guards,
      ownership,
      onChange: (clientId) => tokens.evict(clientId),
    });
  return {
    issueToken: (request) => issueToken(deps, request),
    revokeToken: (request) => revokeToken(deps, request),
    async authenticate(authorization, scope) {
      const client = await tokens.find(readBearerToken(authorization));
      if (client.scopes.includes(scope)) return client;
      throw new OauthError('OAUTH_SCOPE_INSUFFICIENT', `the token is not for ${scope}`, {
        fields: { scope },
      });
    },
    clients: openClients(audit),
    as: (actor) => openClients(audit.as(actor)),
    async findLastTokens(clientIds) {
      if (clientIds.length === 0) return new Map();
      const rows = await db
        .selectFrom('oauth_token')
        .select(({ fn }) => ['client_id', fn.max('issued_at').as('at')])
        .where('client_id', 'in', clientIds)
        .groupBy('client_id')
        .execute();
      return new Map(rows.map((row) => [row.client_id, new Date(Number(row.at))]));
    },
  };
}

/** RFC 6750 §2.1: `b64token`. */
const bearerForm = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/**
 * The token of an `Authorization` header (OAUTH-08, OAUTH-09). Throws OAUTH_TOKEN_MISSING if there is no
 * header or it is of another scheme, OAUTH_TOKEN_MALFORMED if it says Bearer and carries no token.
 */
export function readBearerToken(authorization: string | undefined): string {
  if (authorization === undefined || !/^bearer(\s|$)/i.test(authorization)) {
    throw new OauthError('OAUTH_TOKEN_MISSING', 'no bearer token');
  }
  const token = bearerForm.exec(authorization)?.[1];
  if (token === undefined)
    throw new OauthError('OAUTH_TOKEN_MALFORMED', 'the Authorization header is malformed');
  return token;
}
