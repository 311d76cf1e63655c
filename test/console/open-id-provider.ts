import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

/** A real OpenID provider on loopback, with its own sign-in pages: any name is an account. */
export interface TestProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Claims of the accounts, by name. */
  readonly accounts: Map<string, Readonly<Record<string, unknown>>>;
  /** From now on, whether its tokens have a signature that does not fit. */
  forgeSignatures(isForging: boolean): void;
  close(): Promise<void>;
}

/** On 127.0.0.1, which is another site than the console's localhost. */
export async function startProvider(redirectUri: string): Promise<TestProvider> {
  const accounts: TestProvider['accounts'] = new Map();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [clientId, clientSecret] = ['openhisp-console', 'a secret of the test: 8+/=%'];
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        application_type: 'native',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'test' }] },
    claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'groups'],
    cookies: { keys: ['test'] },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: async () => ({ sub: `subject-${id}`, preferred_username: id, ...accounts.get(id) }),
    }),
    features: { devInteractions: { enabled: true } },
  });
  const handle = provider.callback();
  let isForging = false;
  server.on('request', (request, response) => {
    if (isForging) forgeToken(request, response);
    void handle(request, response);
  });
  return {
    issuer,
    clientId,
    clientSecret,
    accounts,
    forgeSignatures(isOn) {
      isForging = isOn;
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Changes the first letter of the signature in an answer of the token endpoint. */
function forgeToken(request: IncomingMessage, response: ServerResponse): void {
  if (request.url !== '/token') return;
  const end = response.end.bind(response) as (text: string) => ServerResponse;
  response.end = ((text: string) =>
    end(
      text.replace(
        /("id_token":"[\w-]+\.[\w-]+\.)([\w-])/,
        (_all, start: string, letter: string) => `${start}${letter === 'A' ? 'B' : 'A'}`,
      ),
    )) as typeof response.end;
}
