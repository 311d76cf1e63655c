import { errorCode, type CodedError } from '../../core/index.ts';

/** True for what a client is told of its sign-in, or of an account that ended meanwhile. */
export function isSignInRefusal(error: unknown): error is CodedError {
  const code = errorCode(error);
  return code === 'EDGES_SIGN_IN_REFUSED' || code === 'EDGES_ATTEMPTS_EXCEEDED';
}

/** The response of SASL PLAIN (RFC 4616), base64; nobody signs in for somebody else. */
export function readPlain(
  response: string,
): { readonly username: string; readonly password: string } | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(response)) return undefined;
  const [authorization = '', username = '', password, ...more] = Buffer.from(response, 'base64')
    .toString('utf8')
    .split('\0');
  const isForItself = authorization === '' || authorization === username;
  return password === undefined || more.length > 0 || !isForItself ? undefined : { username, password };
}
