import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Members over the usual header of ID tokens, and another signature than the correct one, in base64url. */
export interface TokenChange {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly signature?: string;
}

/** A provider of correct form that puts into its tokens whatever a test asks for. */
export interface HostileProvider {
  readonly issuer: string;
  readonly clientId: string;
  /** Claims of the next ID token, over the usual ones; undefined leaves one out. */
  answerWith(claims: Readonly<Record<string, unknown>>): void;
  /** How it signs from now on. */
  signWith(change: TokenChange): void;
  /** What it says of itself from now on, over the usual. */
  describe(metadata: Readonly<Record<string, unknown>>): void;
  /** Answers of the userinfo endpoint from now on. */
  tell(claims: Readonly<Record<string, unknown>>): void;
  close(): Promise<void>;
}

export async function startHostileProvider(): Promise<HostileProvider> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const clientId = 'openhisp-console';
  let next: Readonly<Record<string, unknown>> = {};
  let signing: TokenChange = {};
  let described: Readonly<Record<string, unknown>> = {};
  let userInfo: Readonly<Record<string, unknown>> = {};
  let issuer = '';
  const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url');

  function makeToken(): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, aud: clientId, iat: now, exp: now + 300, groups: ['hisp-desk'], ...next };
    const text = `${encode({ alg: 'RS256', kid: 'test', ...signing.header })}.${encode(claims)}`;
    const correct = sign('sha256', Buffer.from(text), privateKey).toString('base64url');
    return `${text}.${signing.signature ?? correct}`;
  }

  const answers: Readonly<Record<string, () => unknown>> = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/me`,
      jwks_uri: `${issuer}/keys`,
      id_token_signing_alg_values_supported: ['RS256'],
      ...described,
    }),
    '/keys': () => ({
      keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'test', alg: 'RS256', use: 'sig' }],
    }),
    '/token': () => ({ access_token: 'x', token_type: 'Bearer', id_token: makeToken() }),
    '/me': () => userInfo,
  };
  const server = createServer((request, response) => {
    request.resume();
    const answer = answers[request.url ?? '']?.();
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    clientId,
    answerWith(claims) {
      next = claims;
    },
    signWith(change) {
      signing = change;
    },
    describe(metadata) {
      described = metadata;
    },
    tell(claims) {
      userInfo = claims;
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
