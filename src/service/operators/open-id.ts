import { hash, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type * as Client from 'openid-client';
import { errorCode, errorText } from '../../core/index.ts';
import type { Ceremonies, Ceremony } from './ceremonies.ts';
import { OperatorsError } from './errors.ts';
import { externalName, isOperatorName, nameKeyOf } from './operator-name.ts';
import { organizationObject } from './operator-store.ts';
import { findOperatorRow, type OperatorParts, type OperatorRow, toIdentity } from './operator.ts';
import { requireRoleOf, type Role } from './roles.ts';
import { endSessionsIn, type Sessions, type SignInSource, type StartedSession } from './sessions.ts';
import type { OperatorTables } from './tables.ts';

type Tx = Kysely<OperatorTables>;

/** What a value of the claim gives: a role, for all of this HISP or inside an organization. */
export interface MappedRole {
  readonly value: string;
  readonly role: Role;
  readonly organizationId: string | undefined;
}

/** An OpenID provider that authenticates operators and assigns their roles. */
export interface OpenIdSettings {
  /** Its name on the sign-in page. */
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  readonly scopes: readonly string[];
  /** The claim with roles or groups: a string, or a list of strings. */
  readonly rolesClaim: string;
  /** Values of the claim with their roles; the first match applies. */
  readonly roleMap: readonly MappedRole[];
}

export interface OpenIdSignIn {
  /**
   * The provider's address for the browser; `after` is the path to return to. Throws
   * OPERATORS_PROVIDER_UNREACHABLE.
   */
  begin(redirectUri: string, after: string): Promise<{ readonly ceremony: Ceremony; readonly url: string }>;
  /**
   * Processes the provider's answer: the complete URL that it redirected the browser to. If it gives a known
   * operator no role, all sessions of that operator end. Throws OPERATORS_CEREMONY_INVALID,
   * OPERATORS_PROVIDER_REFUSED, OPERATORS_PROVIDER_UNREACHABLE, OPERATORS_ROLE_MISSING, OPERATORS_NAME_TAKEN,
   * OPERATORS_NAME_INVALID.
   */
  finish(
    callbackUrl: string,
    ceremonyToken: string | undefined,
    source: SignInSource,
  ): Promise<{ readonly session: StartedSession; readonly after: string }>;
}

type Claims = Readonly<Record<string, unknown>>;

/** Timeout per request to the provider. */
const timeoutSeconds = 10;

/** The authorization code flow with PKCE, state and nonce (OpenID Connect Core 1.0 §3.1). */
export function createOpenIdSignIn(
  parts: OperatorParts & { readonly sessions: Sessions; readonly ceremonies: Ceremonies },
  settings: OpenIdSettings,
): OpenIdSignIn {
  const { storage, clock, audit, guards, ownership, sessions, ceremonies } = parts;
  let discovered: Promise<Client.Configuration> | undefined;

  /** Fetched once, and again after a failure. */
  function discover(): Promise<Client.Configuration> {
    discovered ??= readProvider(settings).catch((error: unknown) => {
      discovered = undefined;
      throw new OperatorsError(
        'OPERATORS_PROVIDER_UNREACHABLE',
        `the OpenID provider ${settings.issuer} cannot be used: ${errorText(error)}`,
        { cause: error, fields: { reason: 'discovery' } },
      );
    });
    return discovered;
  }

  async function readClaims(callbackUrl: string, ceremonyToken: string): Promise<Claims> {
    const provider = await discover();
    const client = await import('openid-client');
    try {
      const tokens = await client.authorizationCodeGrant(provider, new URL(callbackUrl), {
        expectedState: derive('state', ceremonyToken),
        expectedNonce: derive('nonce', ceremonyToken),
        pkceCodeVerifier: derive('verifier', ceremonyToken),
        idTokenExpected: true,
      });
      const claims: Claims = { ...tokens.claims() };
      // OpenID Connect Core 1.0 §2: at most 255 ASCII characters. The library checks azp of several.
      if (!/^[\x21-\x7e]{1,255}$/.test(String(claims['sub']))) throw new Error('the subject is invalid');
      if (![undefined, settings.clientId].includes(claims['azp'] as string | undefined))
        throw new Error('the token is for another client (azp)');
      const hasUserInfo = provider.serverMetadata().userinfo_endpoint !== undefined;
      if (settings.rolesClaim in claims || !hasUserInfo) return claims;
      const more = await client.fetchUserInfo(provider, tokens.access_token, String(claims['sub']));
      return mergeClaims(claims, more);
    } catch (error) {
      const reason = errorText(error).slice(0, 200);
      throw new OperatorsError(
        'OPERATORS_PROVIDER_REFUSED',
        `invalid answer of the OpenID provider: ${reason}`,
        {
          cause: error,
          fields: { reason },
        },
      );
    }
  }

  const subjectOf = (claims: Claims): string => `${settings.issuer} ${String(claims['sub'])}`;

  async function lockKnown(tx: Tx, claims: Claims): Promise<OperatorRow | undefined> {
    const query = tx.selectFrom('console_operator').selectAll().where('subject', '=', subjectOf(claims));
    const row = await storage.forUpdate(query).executeTakeFirst();
    return row && guards.operators.check(row);
  }

  /** That the provider gives no role any more is known now, and not only when the sessions are over. */
  async function endAccess(claims: Claims, source: SignInSource): Promise<void> {
    await storage.transaction(async (tx: Tx) => {
      const known = await lockKnown(tx, claims);
      if (known === undefined) return;
      const count = await endSessionsIn(tx, known.id);
      await audit.recordIn(tx, {
        action: 'operator.role-lost',
        actor: toIdentity(known).actor,
        outcome: 'refused',
        objects: { operator: known.name, ended: count },
        requestId: source.requestId,
        remoteAddress: source.remoteAddress,
      });
    });
  }

  async function isOpen({ organizationId }: MappedRole, tx: Tx): Promise<boolean> {
    if (organizationId === undefined) return true;
    const organization = await ownership.find(organizationId, tx);
    return organization !== undefined && organization.closedAt === undefined;
  }

  /** The operator of the claims, created at the first sign-in, with the role from the current claims. */
  async function storeOperator(tx: Tx, claims: Claims, mapped: MappedRole): Promise<OperatorRow> {
    const { role } = mapped;
    const organizationId = mapped.organizationId ?? null;
    requireRoleOf(role, organizationId);
    const nowMs = clock.now().getTime();
    const known = await lockKnown(tx, claims);
    if (known === undefined) {
      const name = externalName(nameOf(claims));
      // An existing operator with this name, or one that looks like it, may be another person.
      if ((await findOperatorRow(tx, guards, { name_key: nameKeyOf(name) })) !== undefined)
        throw new OperatorsError(
          'OPERATORS_NAME_TAKEN',
          `another operator of this HISP has the name ${name}`,
          {
            fields: { reason: 'name taken' },
          },
        );
      const row = guards.operators.withMac({
        id: randomUUID(),
        name,
        name_key: nameKeyOf(name),
        role,
        organization_id: organizationId,
        subject: subjectOf(claims),
        disabled_at: null,
        created_at: nowMs,
        updated_at: nowMs,
      });
      await tx.insertInto('console_operator').values(row).execute();
      const objects = { operator: name, role, ...organizationObject(organizationId) };
      await audit.recordIn(tx, { action: 'operator.create', actor: 'system', outcome: 'ok', objects });
      return row;
    }
    const { mac: _old, ...row } = known;
    if (row.role === role && row.organization_id === organizationId) return known;
    const values = { role, organization_id: organizationId, updated_at: nowMs };
    const changed = guards.operators.withMac({ ...row, ...values });
    await tx.updateTable('console_operator').set(changed).where('id', '=', row.id).execute();
    const objects = {
      operator: row.name,
      from: row.role,
      to: role,
      ...organizationObject(organizationId),
    };
    await audit.recordIn(tx, { action: 'operator.role', actor: 'system', outcome: 'ok', objects });
    return changed;
  }

  return {
    async begin(redirectUri, after) {
      const provider = await discover();
      const client = await import('openid-client');
      const ceremony = await ceremonies.begin('oidc', after);
      const url = client.buildAuthorizationUrl(provider, {
        redirect_uri: redirectUri,
        scope: settings.scopes.join(' '),
        state: derive('state', ceremony.token),
        nonce: derive('nonce', ceremony.token),
        code_challenge: await client.calculatePKCECodeChallenge(derive('verifier', ceremony.token)),
        code_challenge_method: 'S256',
      });
      return { ceremony, url: url.href };
    },
    async finish(callbackUrl, ceremonyToken = '', source) {
      const after = await ceremonies.take('oidc', ceremonyToken);
      const claims = await readClaims(callbackUrl, ceremonyToken);
      const mapped = findRole(claims[settings.rolesClaim], settings.roleMap);
      // Undefined: the role is of an organization that there is not, or that is closed.
      const enter = async (tx: Tx) => {
        if (mapped === undefined || !(await isOpen(mapped, tx))) return undefined;
        const operator = await storeOperator(tx, claims, mapped);
        const started = await sessions.startIn(tx, operator.id, 'oidc', source);
        await audit.recordIn(tx, {
          action: 'console.sign-in',
          actor: started.operator.actor,
          outcome: 'ok',
          objects: { method: 'oidc', session: started.sessionId, role: mapped.role },
          requestId: source.requestId,
          remoteAddress: source.remoteAddress,
        });
        return started;
      };
      const session = await storage.transaction(enter).catch((error: unknown) => {
        // Two first sign-ins of one subject at once: the second finds the operator that the first created.
        if (errorCode(error) === 'PLATFORM_STORAGE_DUPLICATE') return storage.transaction(enter);
        throw error;
      });
      if (session === undefined) {
        await endAccess(claims, source);
        throw new OperatorsError(
          'OPERATORS_ROLE_MISSING',
          'the OpenID provider gives no role for the console, or one of an organization that is not open',
          { fields: { reason: mapped === undefined ? 'no role' : 'organization' } },
        );
      }
      return { session, after };
    },
  };
}

async function readProvider(settings: OpenIdSettings): Promise<Client.Configuration> {
  const client = await import('openid-client');
  const issuer = new URL(settings.issuer);
  // Plain HTTP is allowed on this machine only; everything else requires TLS.
  const isLocal =
    issuer.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(issuer.hostname);
  const found = await client.discovery(issuer, settings.clientId, undefined, client.None(), {
    timeout: timeoutSeconds,
    [client.customFetch]: limitedFetch as Client.CustomFetch,
    execute: isLocal ? [client.allowInsecureRequests] : [],
  });
  const metadata = found.serverMetadata();
  // Where the browser is sent; the library checks those that it asks itself.
  const { protocol } = URL.parse(metadata.authorization_endpoint ?? '') ?? {};
  if (protocol !== 'https:' && !(isLocal && protocol === 'http:'))
    throw new Error('its authorization_endpoint is not an https: URL');
  const provider = new client.Configuration(
    metadata,
    settings.clientId,
    undefined,
    chooseAuthentication(client, settings.clientSecret, metadata.token_endpoint_auth_methods_supported),
  );
  provider.timeout = timeoutSeconds;
  provider[client.customFetch] = limitedFetch as Client.CustomFetch;
  if (isLocal) client.allowInsecureRequests(provider);
  // The signature of the ID token is verified in addition to the provider's TLS certificate.
  client.enableNonRepudiationChecks(provider);
  return provider;
}

function chooseAuthentication(
  client: typeof Client,
  secret: string | undefined,
  // The default if the provider's metadata does not say (OpenID Connect Discovery 1.0 §3).
  supported: readonly string[] = ['client_secret_basic'],
) {
  if (secret === undefined) return client.None();
  return supported.includes('client_secret_basic')
    ? client.ClientSecretBasic(secret)
    : client.ClientSecretPost(secret);
}

/** State, nonce and PKCE verifier of a sign-in are derived from the value of the browser's cookie. */
function derive(what: 'state' | 'nonce' | 'verifier', ceremonyToken: string): string {
  return hash('sha256', `${what}:${ceremonyToken}`, 'base64url');
}

function findRole(claim: unknown, roleMap: OpenIdSettings['roleMap']): MappedRole | undefined {
  const values = new Set(Array.isArray(claim) ? claim : [claim]);
  return roleMap.find(({ value }) => values.has(value));
}

/** Those of the ID token come first; an e-mail address and whether it is verified come from one source. */
function mergeClaims(claims: Claims, userInfo: Claims): Claims {
  const { email: _email, email_verified: _verified, ...others } = userInfo;
  const hasEmail = 'email' in claims || 'email_verified' in claims;
  return { ...(hasEmail ? others : userInfo), ...claims };
}

/** An e-mail address that the provider has not verified is the word of whoever typed it. */
function nameOf(claims: Claims): string {
  const verified = [true, 'true'].includes(claims['email_verified'] as boolean) ? claims['email'] : undefined;
  const { preferred_username: userName, email } = claims;
  const isUnverified =
    verified === undefined &&
    claims['email_verified'] !== undefined &&
    String(userName).toLowerCase() === String(email).toLowerCase();
  const names = [isUnverified ? undefined : userName, verified, claims['name'], claims['sub']];
  const name = names.find((one) => typeof one === 'string' && isOperatorName(one));
  if (typeof name === 'string') return name;
  throw new OperatorsError('OPERATORS_NAME_INVALID', 'the OpenID provider gives no valid name', {
    fields: { reason: 'no name' },
  });
}

/** The largest answer of a provider that is read: keys of 2,000 bytes each, or the groups of a person. */
const maxAnswerBytes = 256 * 1024;

/**
 * `fetch` for the OpenID library, which reads an answer of any length: this one is counted as it comes, after
 * it was decompressed. Rejects with a TypeError, as fetch does.
 */
async function limitedFetch(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += piece.length;
    // Leaving the loop closes the connection.
    if (length > maxAnswerBytes) throw new TypeError(`the answer has more than ${maxAnswerBytes} bytes`);
    pieces.push(piece);
  }
  const { status, headers } = response;
  return new Response(length === 0 ? null : Buffer.concat(pieces), { status, headers });
}
