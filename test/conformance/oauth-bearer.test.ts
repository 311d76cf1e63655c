import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HispFastify } from '../../src/app/http/index.ts';
import { startOauthServer, type Answer } from './oauth-server.ts';

function uploadRoute(app: HispFastify): void {
  app.post('/upload', { onRequest: app.requireScope('messaging.api') }, async ({ client }) => client);
}

const server = await startOauthServer({ routes: [uploadRoute] });
const get = (authorization?: string, path = '/directory-route'): Promise<Answer> =>
  server.call(path, authorization === undefined ? {} : { headers: { authorization } });

function assertRefused(answer: Answer, status: number, message: string, challenge: RegExp): void {
  assert.deepEqual(
    [answer.status, answer.body['status'], answer.body['code'], answer.body['message']],
    [status, 'Error', status, message],
  );
  assert.match(answer.headers.get('www-authenticate') ?? '', challenge);
  assert.equal(answer.body['requestId'], answer.headers.get('x-request-id'));
}

test('Directory spec: Authentication; a request with a valid bearer token succeeds', async () => {
  const answer = await get(`Bearer ${await server.accessToken('provider-directory')}`);
  assert.deepEqual([answer.status, answer.body['clientId']], [200, server.client.clientId]);
});

test('OAUTH-08: the scheme name is case-insensitive', async () => {
  assert.equal((await get(`bEARER ${await server.accessToken()}`)).status, 200);
});

test('OAUTH-08: a token in the query or in a form does not count', async () => {
  const token = await server.accessToken();
  assert.equal((await get(undefined, `/directory-route?access_token=${token}`)).status, 401);
});

test('OAUTH-09: no credentials, or of another scheme: 401 with a challenge without error code', async () => {
  for (const header of [undefined, 'Basic eDp5', 'Bearertoken']) {
    assertRefused(await get(header), 401, 'Authentication fail', /^Bearer realm="[^"]+"$/);
  }
});

test('OAUTH-09: a malformed header is 400 invalid_request', async () => {
  for (const header of ['Bearer', 'Bearer ', 'Bearer a b', 'Bearer "x"', 'Bearer a,b']) {
    assertRefused(await get(header), 400, 'Required Params Missing', /error="invalid_request"/);
  }
});

test('OAUTH-09: an unknown token is 401 invalid_token', async () => {
  for (const token of ['x', 'A'.repeat(43), 'A'.repeat(5000)]) {
    assertRefused(await get(`Bearer ${token}`), 401, 'Authentication fail', /error="invalid_token"/);
  }
});

test('OAUTH-09: a messaging token on the directory is 403 insufficient_scope, naming the scope', async () => {
  const token = await server.accessToken('messaging.api');
  assertRefused(
    await get(`Bearer ${token}`),
    403,
    'Forbidden',
    /error="insufficient_scope", scope="provider-directory"/,
  );
  assert.equal((await get(`Bearer ${token}`, '/messaging-route')).status, 200);
});

test('OAUTH-10: a token works for 3600 seconds and has expired at 3600 sharp', async () => {
  const token = await server.accessToken();
  server.clock.advance(3_599_999);
  assert.equal((await get(`Bearer ${token}`)).status, 200);
  server.clock.advance(1);
  assertRefused(await get(`Bearer ${token}`), 401, 'Authentication fail', /error="invalid_token"/);
});

test('a client that is disabled loses its tokens at once', async () => {
  const client = await server.oauth.clients.create({ name: 'x', scopes: ['provider-directory'] });
  const { body } = await server.token(
    { grant_type: 'client_credentials' },
    { authorization: `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}` },
  );
  const header = `Bearer ${String(body['access_token'])}`;
  assert.equal((await get(header)).status, 200);
  await server.oauth.clients.disable(client.clientId);
  assert.equal((await get(header)).status, 401);
});

test('SEC-01: what a client may do is checked again when its body has come, if that took long', async () => {
  const { clients } = server.oauth;
  const upload = async (meanwhile: (clientId: string) => Promise<unknown>) => {
    const { clientId, clientSecret } = await clients.create({
      name: 'Slow',
      scopes: ['messaging.api'],
      directAddresses: ['one@direct.example.org', 'two@direct.example.org'],
    });
    const answer = await server.token(
      { grant_type: 'client_credentials' },
      { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    );
    const outgoing = request(`${server.url}/upload`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${String(answer.body['access_token'])}`,
        'content-type': 'application/json',
        'content-length': 2,
      },
    });
    const { promise, resolve, reject } = Promise.withResolvers<readonly [number | undefined, string]>();
    outgoing.once('error', reject).once('response', (response) => {
      void response
        .setEncoding('utf8')
        .reduce<string>((text, chunk) => text + String(chunk), '')
        .then((text) => resolve([response.statusCode, text]), reject);
    });
    outgoing.write('{');
    await sleep(200);
    await meanwhile(clientId);
    await sleep(1000);
    outgoing.end('}');
    return promise;
  };
  const [disabled, withoutScope, changed] = await Promise.all([
    upload((clientId) => clients.disable(clientId)),
    upload((clientId) => clients.update(clientId, { scopes: ['provider-directory'] })),
    upload((clientId) => clients.update(clientId, { directAddresses: ['two@direct.example.org'] })),
  ]);
  const expired = await upload(async () => server.clock.advance(3_600_000));
  assert.deepEqual([disabled[0], withoutScope[0], changed[0], expired[0]], [401, 403, 200, 401]);
  const { directAddresses } = JSON.parse(changed[1]) as { directAddresses: unknown };
  assert.deepEqual(directAddresses, ['two@direct.example.org']);
});

test('a scope removed from a client is removed from its tokens, too', async () => {
  const token = await server.accessToken();
  await server.oauth.clients.update(server.client.clientId, { scopes: ['messaging.api'] });
  assert.equal((await get(`Bearer ${token}`)).status, 403);
  await server.oauth.clients.update(server.client.clientId, {
    scopes: ['provider-directory', 'messaging.api'],
  });
  assert.equal((await get(`Bearer ${token}`)).status, 200);
});

test('a revocation in another process works within seconds', async () => {
  const token = await server.accessToken();
  assert.equal((await get(`Bearer ${token}`)).status, 200);
  await server.storage.tables<{ oauth_token: { client_id: string } }>().deleteFrom('oauth_token').execute();
  server.clock.advance(5000);
  assert.equal((await get(`Bearer ${token}`)).status, 401);
});

test('SEC-02: a refused access is audited', async () => {
  await server.call('/directory-route', { headers: { 'x-request-id': 'refused-1' } });
  const [record] = await server.audit.find({ requestId: 'refused-1' });
  assert.deepEqual(
    [record?.action, record?.outcome, record?.objects],
    ['access.refuse', 'refused', { code: 'OAUTH_TOKEN_MISSING', scope: 'provider-directory' }],
  );
});
