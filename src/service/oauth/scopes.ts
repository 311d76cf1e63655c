import { OauthError } from './errors.ts';

/**
 * The services that tokens open (Directory spec: Authentication; Messaging spec: Authentication), and this
 * service's own for the addresses of an organization and for where their mail goes (Decisions 0036, 0037).
 */
export const scopeNames = ['provider-directory', 'messaging.api', 'provisioning', 'forwarding'] as const;

/** Those of a new client, unless others are given: only who is trusted with it changes addresses. */
export const usualScopes: readonly Scope[] = ['provider-directory', 'messaging.api'];

export type Scope = (typeof scopeNames)[number];

/** RFC 6749 §3.3: scope-tokens separated by single spaces. */
const scopeForm = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * The scopes that a token gets. Without a request it is all that the client may have (Decision 0006); asking
 * for one that is unknown or not allowed is OAUTH_SCOPE_INVALID.
 */
export function chooseScopes(requested: string | undefined, allowed: readonly string[]): readonly string[] {
  if (requested === undefined) return allowed;
  if (!scopeForm.test(requested))
    throw new OauthError('OAUTH_SCOPE_INVALID', 'the scope parameter is malformed');
  const names = [...new Set(requested.split(' '))];
  if (names.every((name) => allowed.includes(name))) return names;
  throw new OauthError('OAUTH_SCOPE_INVALID', 'a scope is unknown or not allowed for this client');
}

export function isScope(name: string): name is Scope {
  return (scopeNames as readonly string[]).includes(name);
}
