import { OauthError } from './errors.ts';

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
