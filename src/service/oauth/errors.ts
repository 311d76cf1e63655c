import { codedError, type ErrorTable } from '../../core/index.ts';

export const oauthErrors = {
  // The token endpoint, answered in OAuth's own form (RFC 6749 §5.2).
  OAUTH_REQUEST_INVALID: { kind: 'invalid-input' },
  OAUTH_CLIENT_INVALID: { kind: 'unauthenticated' },
  OAUTH_CLIENT_UNAUTHORIZED: { kind: 'invalid-input' },
  OAUTH_GRANT_UNSUPPORTED: { kind: 'invalid-input' },
  OAUTH_SCOPE_INVALID: { kind: 'invalid-input' },
  OAUTH_ATTEMPTS_EXCEEDED: { kind: 'rate-limited' },
  OAUTH_OVERLOADED: { kind: 'unavailable' },
  // Bearer tokens at a resource, answered as RFC 6750 §3.1 asks.
  OAUTH_TOKEN_MISSING: { kind: 'unauthenticated', publicMessage: 'A bearer token is required.' },
  OAUTH_TOKEN_MALFORMED: {
    kind: 'invalid-input',
    publicMessage: 'The Authorization header is not a bearer token.',
  },
  OAUTH_TOKEN_INVALID: {
    kind: 'unauthenticated',
    publicMessage: 'The token is unknown, expired or revoked.',
  },
  OAUTH_SCOPE_INSUFFICIENT: { kind: 'forbidden', publicMessage: 'The token is not for this service.' },
  // Administration.
  OAUTH_CLIENT_UNKNOWN: { kind: 'not-found' },
  OAUTH_CLIENT_EXISTS: { kind: 'conflict' },
  OAUTH_CLIENT_SETTINGS_INVALID: { kind: 'invalid-input' },
  OAUTH_SECRET_UNKNOWN: { kind: 'not-found' },
  OAUTH_SECRETS_EXHAUSTED: { kind: 'conflict' },
  OAUTH_SECRET_LAST: {
    kind: 'conflict',
    publicMessage: 'It is the only secret of the client by now: without it the client is locked out.',
  },
} as const satisfies ErrorTable;

export type OauthErrorCode = keyof typeof oauthErrors;

/**
 * A malformed request to the token or revocation endpoint. The text goes to the client: fixed words, nothing
 * of the request (OAUTH-14).
 */
export function invalidRequest(text: string): OauthError {
  return new OauthError('OAUTH_REQUEST_INVALID', text, { publicMessage: text });
}

/** Errors of the authorization server and the bearer check. No message repeats a secret or a token. */
export class OauthError extends codedError(oauthErrors) {}
