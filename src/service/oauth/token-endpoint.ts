import type { Kysely } from 'kysely';
import { type Clock, errorCode, failureOutcome } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import type { Audit } from '../audit/index.ts';
import type { AttemptGuard } from './attempts.ts';
import { invalidRequest, OauthError } from './errors.ts';
import { chooseScopes } from './scopes.ts';
import type { OauthTables } from './tables.ts';
import { hashToken, tokenLifetimeSeconds, type TokenStore } from './token-store.ts';
import type { ClientVerifier, VerifiedClient } from './verify-client.ts';

/** A request to the token or revocation endpoint, as it came. */
export interface TokenRequest {
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
  /** Without the question mark. */
  readonly query: string;
  readonly remoteAddress: string;
  readonly requestId: string;
}

/** RFC 6749 §5.1; there is never a refresh token (OAUTH-06). */
export interface IssuedToken {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  readonly scopes: readonly string[];
}

export interface TokenEndpointDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly verifier: ClientVerifier;
  readonly tokens: TokenStore;
  readonly guard: AttemptGuard;
  readonly acceptsQueryParameters: boolean;
}

/**
 * One grant: read the form, authenticate the client, check the grant, choose the scopes, issue
 * (RFC 6749 §4.4).
 */
export async function issueToken(
  deps: TokenEndpointDependencies,
  request: TokenRequest,
): Promise<IssuedToken> {
  let clientId: string | undefined;
  try {
    const form = readParameters(deps, request);
    const client = await authenticateClient(deps, request, form);
    clientId = client.row.client_id;
    requireGrant(form);
    const scopes = chooseScopes(form.get('scope'), allowedScopes(client));
    deps.guard.granted(clientId);
    return await storeToken(deps, request, client, scopes);
  } catch (error) {
    await recordRefusal(deps.audit, request, { action: 'token.issue', actor: clientId, error });
    throw error;
  }
}

/** RFC 7009: the answer is the same for every token; only a token of the client is revoked. */
export async function revokeToken(deps: TokenEndpointDependencies, request: TokenRequest): Promise<void> {
  let clientId: string | undefined;
  try {
    const form = readTokenForm(request.contentType, request.body);
    clientId = (await authenticateClient(deps, request, form)).row.client_id;
    await deleteToken(deps, request, { clientId, token: form.get('token') });
  } catch (error) {
    await recordRefusal(deps.audit, request, { action: 'token.revoke', actor: clientId, error });
    throw error;
  }
}

async function deleteToken(
  deps: TokenEndpointDependencies,
  request: TokenRequest,
  { clientId, token }: { readonly clientId: string; readonly token: string | undefined },
): Promise<void> {
  if (token === undefined) throw invalidRequest('The form lacks the parameter token');
  await deps.storage.transaction(async (tx: Kysely<OauthTables>) => {
    const ended = await tx
      .deleteFrom('oauth_token')
      .where('token_hash', '=', hashToken(token))
      .where('client_id', '=', clientId)
      .executeTakeFirstOrThrow();
    if (ended.numDeletedRows > 0n)
      await deps.audit.recordIn(tx, event(request, 'token.revoke', 'ok', clientId));
  });
  deps.tokens.evict(clientId);
}

// OAUTH-07: the body by default; with the switch also the query, but never credentials from there.
function readParameters(deps: TokenEndpointDependencies, request: TokenRequest): TokenForm {
  const query = readTokenQuery(request.query);
  if (query.has('client_secret')) {
    throw invalidRequest('client_secret must not be in the query: send it in the Authorization header');
  }
  if (!deps.acceptsQueryParameters) return readTokenForm(request.contentType, request.body);
  const body =
    request.body.length === 0 ? new Map<string, string>() : readTokenForm(request.contentType, request.body);
  if ([...query.keys()].some((name) => body.has(name))) {
    throw invalidRequest('A parameter is both in the body and in the query');
  }
  return new Map([...query, ...body]);
}

async function authenticateClient(
  deps: TokenEndpointDependencies,
  request: TokenRequest,
  form: TokenForm,
): Promise<VerifiedClient> {
  // RFC 6749 §2.3: never more than one method; ours is HTTP Basic.
  if (form.has('client_secret') && request.authorization !== undefined) {
    throw invalidRequest('client_secret must not be in the body: send it in the Authorization header alone');
  }
  const client = await verifyCounted(deps, request);
  requireSameClient(form, client);
  return client;
}

/** Throws OAUTH_CLIENT_INVALID, and OAUTH_ATTEMPTS_EXCEEDED without a look at the secret (OAUTH-12). */
async function verifyCounted(
  { guard, verifier }: TokenEndpointDependencies,
  request: TokenRequest,
): Promise<VerifiedClient> {
  const { remoteAddress, authorization } = request;
  // A caller with recently verified credentials is not guessing, and must not be delayed because of others at
  // its address. Nor is one whose credentials are being verified for another request, which was checked: only
  // if they turn out wrong both are counted.
  if (!verifier.isKnown(request)) guard.check(remoteAddress, authorization);
  let [isCounted, isRefused] = [false, false];
  const countGuess = (): void => {
    if (isCounted) return;
    guard.check(remoteAddress, authorization);
    guard.refused(remoteAddress, authorization);
    isCounted = true;
  };
  try {
    // Counted before a slow hash: refusals counted after it would let all guesses through that come
    // meanwhile.
    return await verifier.verify(request, countGuess);
  } catch (error) {
    isRefused = errorCode(error) === 'OAUTH_CLIENT_INVALID';
    if (isRefused && !isCounted) guard.refused(remoteAddress, authorization);
    throw error;
  } finally {
    if (isCounted && !isRefused) guard.forgive(remoteAddress, authorization);
  }
}

function requireSameClient(form: TokenForm, client: VerifiedClient): void {
  const named = form.get('client_id');
  if (named === undefined || named === client.row.client_id) return;
  throw invalidRequest('The parameter client_id names another client than the Authorization header');
}

function requireGrant(form: TokenForm): void {
  const grant = form.get('grant_type');
  if (grant === undefined) throw invalidRequest('The form lacks the parameter grant_type');
  if (grant !== 'client_credentials')
    throw new OauthError('OAUTH_GRANT_UNSUPPORTED', 'only client_credentials is supported');
}

function allowedScopes({ row }: VerifiedClient): readonly string[] {
  const scopes = row.scopes.split(' ').filter((scope) => scope !== '');
  if (row.disabled_at === null && scopes.length > 0) return scopes;
  throw new OauthError('OAUTH_CLIENT_UNAUTHORIZED', 'the client is disabled or has no scope');
}

async function storeToken(
  deps: TokenEndpointDependencies,
  request: TokenRequest,
  client: VerifiedClient,
  scopes: readonly string[],
): Promise<IssuedToken> {
  const { token, row } = deps.tokens.create(client.row.client_id, client.secretId, scopes);
  await deps.storage.transaction(async (tx: Kysely<OauthTables>) => {
    await requireStill(tx, deps.storage, client);
    await tx.deleteFrom('oauth_token').where('expires_at', '<=', row.issued_at).execute();
    await tx.insertInto('oauth_token').values(row).execute();
    await deps.audit.recordIn(tx, event(request, 'token.issue', 'ok', row.client_id, { scopes: row.scopes }));
  });
  return { accessToken: token, expiresInSeconds: tokenLifetimeSeconds, scopes };
}

/**
 * The secret was verified outside the transaction, and may have been revoked or its client disabled since.
 * Under the client's lock, so that a change that ends all tokens either finds this one or prevents its
 * storage.
 */
async function requireStill(
  tx: Kysely<OauthTables>,
  storage: Storage,
  { row, secretId }: VerifiedClient,
): Promise<void> {
  const query = tx
    .selectFrom('oauth_client as c')
    .innerJoin('oauth_secret as s', 's.client_id', 'c.client_id')
    .select('c.disabled_at')
    .where('c.client_id', '=', row.client_id)
    .where('s.secret_id', '=', secretId);
  const found = await storage.forUpdate(query).executeTakeFirst();
  if (found === undefined) throw new OauthError('OAUTH_CLIENT_INVALID', 'the secret was revoked');
  if (found.disabled_at !== null)
    throw new OauthError('OAUTH_CLIENT_UNAUTHORIZED', 'the client is disabled or has no scope');
}

interface Refused {
  readonly action: 'token.issue' | 'token.revoke';
  /** The client, if it was authenticated. */
  readonly actor: string | undefined;
  readonly error: unknown;
}

// Refusals may come in floods, so they are written with others.
function recordRefusal(
  audit: Audit,
  request: TokenRequest,
  { action, actor, error }: Refused,
): Promise<void> {
  const meant = error instanceof OauthError ? error.fields['clientId'] : undefined;
  const objects = { code: errorCode(error), ...(typeof meant === 'string' ? { clientId: meant } : {}) };
  return audit.record(event(request, action, failureOutcome(error), actor, objects));
}

function event(
  request: TokenRequest,
  action: string,
  outcome: 'ok' | 'refused' | 'failed',
  actor: string | undefined,
  objects: Readonly<Record<string, string>> = {},
): Parameters<Audit['record']>[0] {
  return {
    action,
    outcome,
    actor,
    objects,
    requestId: request.requestId,
    remoteAddress: request.remoteAddress,
  };
}

/** The parameters of a request to the token or revocation endpoint, each at most once. */
type TokenForm = ReadonlyMap<string, string>;

const maxParameters = 50;

/**
 * Reads a form body. A parameter that comes twice is refused; one without a value counts as left out
 * (RFC 6749 §3.2); unknown ones are ignored.
 */
export function readTokenForm(contentType: string | undefined, body: Uint8Array): TokenForm {
  if (!isForm(contentType)) {
    throw invalidRequest('The body must be application/x-www-form-urlencoded');
  }
  return collect(new URLSearchParams(Buffer.from(body).toString('utf8')));
}

/** Reads the same parameters from a query string, for the tolerant switch of Decision 0006. */
function readTokenQuery(query: string): TokenForm {
  return collect(new URLSearchParams(query));
}

function collect(parameters: URLSearchParams): TokenForm {
  const form = new Map<string, string>();
  const seen = new Set<string>();
  for (const [name, value] of parameters) {
    if (seen.has(name) || seen.size >= maxParameters) {
      throw invalidRequest(`A parameter is given twice, or there are more than ${maxParameters}`);
    }
    seen.add(name);
    if (value !== '') form.set(name, value);
  }
  return form;
}

function isForm(contentType: string | undefined): boolean {
  return /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType?.trim() ?? '');
}
