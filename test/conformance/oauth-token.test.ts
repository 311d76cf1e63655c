import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { basic, startOauthServer, type Answer } from './oauth-server.ts';

const server = await startOauthServer();
const tokenPath = '/oauth2/direct/v1/token';
const grant = { grant_type: 'client_credentials' };

function assertOauthError(answer: Answer, status: number, error: string): void {
  assert.deepEqual([answer.status, answer.body['error']], [status, error]);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.body['status'], undefined, 'not the envelope (D25)');
}

test('OAUTH-01: the token endpoint takes POST only; other methods get 405 with Allow', async () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const answer = await server.call(tokenPath, { method });
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'POST'], method);
  }
});

test('OAUTH-01: a body that is not a form is invalid_request', async () => {
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', undefined]) {
    assertOauthError(
      await server.token(JSON.stringify(grant), { 'content-type': type }),
      400,
      'invalid_request',
    );
  }
  const withParameter = { 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=UTF-8' };
  assert.equal((await server.token(grant, withParameter)).status, 200);
});

test('OAUTH-01: a body beyond 16 kB is refused in the same form', async () => {
  assertOauthError(
    await server.token(`grant_type=client_credentials&x=${'y'.repeat(20_000)}`),
    413,
    'invalid_request',
  );
});

test('Messaging spec: Authentication; plain base64 of client_id:client_secret with grant and scope gives a token', async () => {
  const answer = await server.token({ ...grant, scope: 'messaging.api' });
  assert.equal(answer.status, 200);
  assert.deepEqual(
    { ...answer.body, access_token: 'x' },
    { token_type: 'Bearer', expires_in: 3600, access_token: 'x', scope: 'messaging.api' },
  );
});

test('OAUTH-02: credentials with percent, plus, colon and more work raw and form-encoded', async () => {
  const secrets = [
    'a%41b+c:d e/f=ghijklmnop',
    'pass%2Bword%3A+%%%zz-long',
    'ünïcödé-šečřet-0123',
    ':::::::::::::::::',
  ];
  for (const [index, clientSecret] of secrets.entries()) {
    const client = await server.oauth.clients.create({
      name: 'x',
      scopes: ['messaging.api'],
      clientId: `odd.client_${index}`,
      clientSecret,
    });
    const encoded = { clientId: encodeForm(client.clientId), clientSecret: encodeForm(clientSecret) };
    for (const credentials of [client, encoded]) {
      const answer = await server.token(grant, { authorization: basic(credentials) });
      assert.equal(answer.status, 200, JSON.stringify(credentials));
    }
  }
});

function encodeForm(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

test('OAUTH-02: the scheme name is case-insensitive and padding may be missing', async () => {
  const header = basic(server.client).replace('Basic', 'bAsIc').replace(/=+$/, '');
  assert.equal((await server.token(grant, { authorization: header })).status, 200);
});

test('OAUTH-03: unknown id, wrong secret, no and malformed credentials get one and the same 401 invalid_client', async () => {
  const answers = await Promise.all(
    [
      basic({ clientId: 'nobody', clientSecret: server.client.clientSecret }),
      basic({ clientId: server.client.clientId, clientSecret: 'wrong' }),
      basic({ clientId: server.client.clientId, clientSecret: '' }),
      undefined,
      'Basic',
      'Basic !!!',
      'Basic bm9jb2xvbg==',
      'Bearer abc',
      basic({ clientId: 'no\0body', clientSecret: 'wrong' }),
      `Basic ${Buffer.from([0xff, 0xfe, 0x3a, 0x41]).toString('base64')}`,
      `Basic ${'A'.repeat(4000)}`,
    ].map((authorization) => server.token(grant, { authorization })),
  );
  for (const answer of answers) {
    assertOauthError(answer, 401, 'invalid_client');
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic realm="[^"]+"/);
    assert.equal(answer.text, answers[0]?.text);
  }
});

test('OAUTH-03: credentials in the body are no credentials, and twice is invalid_request', async () => {
  const inBody = { ...grant, client_id: server.client.clientId, client_secret: server.client.clientSecret };
  assertOauthError(await server.token(inBody, { authorization: undefined }), 401, 'invalid_client');
  assertOauthError(await server.token(inBody), 400, 'invalid_request');
  assert.equal((await server.token({ ...grant, client_id: server.client.clientId })).status, 200);
  assertOauthError(await server.token({ ...grant, client_id: 'other' }), 400, 'invalid_request');
});

test('OAUTH-04: a missing or empty grant_type is invalid_request, another one unsupported_grant_type', async () => {
  assertOauthError(await server.token({ scope: 'messaging.api' }), 400, 'invalid_request');
  assertOauthError(await server.token('grant_type=&scope=messaging.api'), 400, 'invalid_request');
  assertOauthError(await server.token({ grant_type: 'password' }), 400, 'unsupported_grant_type');
  assertOauthError(await server.token({ grant_type: 'Client_Credentials' }), 400, 'unsupported_grant_type');
});

test('OAUTH-04: a repeated parameter is invalid_request, an unknown one is ignored', async () => {
  for (const name of ['grant_type', 'scope', 'other']) {
    const form = `grant_type=client_credentials&scope=messaging.api&other=1&${name}=messaging.api`;
    assertOauthError(await server.token(form), 400, 'invalid_request');
  }
  assert.equal((await server.token({ ...grant, resource: 'x' })).status, 200);
});

test('OAUTH-04: the description of invalid_request says which parameter is wrong', async () => {
  const describe = async (
    form: string | Record<string, string>,
    headers: Record<string, string | undefined> = {},
  ): Promise<unknown> => (await server.token(form, headers)).body['error_description'];
  assert.deepEqual(
    [
      await describe(JSON.stringify(grant), { 'content-type': 'application/json' }),
      await describe({ scope: 'messaging.api' }),
      await describe('grant_type=client_credentials&scope=messaging.api&scope=provider-directory'),
      await describe({ ...grant, client_secret: 'x' }),
      await describe({ ...grant, client_id: 'other' }),
      await describe('x='.padEnd(20_000, 'y')),
    ],
    [
      'The body must be application/x-www-form-urlencoded',
      'The form lacks the parameter grant_type',
      'A parameter is given twice, or there are more than 50',
      'client_secret must not be in the body: send it in the Authorization header alone',
      'The parameter client_id names another client than the Authorization header',
      'The form is larger than 16 KiB',
    ],
  );
});

test('D25: a request that is refused before its route is not cached either', async () => {
  const answer = await server.call(`${tokenPath}?a=%ff`, { method: 'POST' });
  assertOauthError(answer, 400, 'invalid_request');
  assert.equal(answer.headers.get('pragma'), 'no-cache');
});

test('OAUTH-04: a client that is disabled or has no scope is unauthorized_client', async () => {
  const client = await server.oauth.clients.create({ name: 'x', scopes: [] });
  assertOauthError(await server.token(grant, { authorization: basic(client) }), 400, 'unauthorized_client');
  const other = await server.oauth.clients.create({ name: 'x', scopes: ['messaging.api'] });
  await server.oauth.clients.disable(other.clientId);
  assertOauthError(await server.token(grant, { authorization: basic(other) }), 400, 'unauthorized_client');
  await server.oauth.clients.enable(other.clientId);
  assert.equal((await server.token(grant, { authorization: basic(other) })).status, 200);
});

test('OAUTH-05: both scopes in one request are granted, in the order asked for and without repetition', async () => {
  const answer = await server.token({ ...grant, scope: 'messaging.api provider-directory messaging.api' });
  assert.equal(answer.body['scope'], 'messaging.api provider-directory');
});

test('OAUTH-05: an unknown, differently written, malformed or not allowed scope is invalid_scope', async () => {
  for (const scope of [
    'unknown',
    'Messaging.api',
    'messaging.api  provider-directory',
    ' messaging.api',
    'a"b',
    'messaging.api,provider-directory',
  ]) {
    assertOauthError(await server.token({ ...grant, scope }), 400, 'invalid_scope');
  }
  const client = await server.oauth.clients.create({ name: 'x', scopes: ['messaging.api'] });
  assertOauthError(
    await server.token({ ...grant, scope: 'provider-directory' }, { authorization: basic(client) }),
    400,
    'invalid_scope',
  );
});

test('OAUTH-05: without scope the token gets all scopes of the client, and says so (Decision 0006)', async () => {
  assert.equal((await server.token(grant)).body['scope'], 'provider-directory messaging.api');
  assert.equal(
    (await server.token('grant_type=client_credentials&scope=')).body['scope'],
    'provider-directory messaging.api',
  );
});

test('OAUTH-06: success is 200 JSON, not to be stored, and without a refresh token', async () => {
  const { status, headers, body } = await server.token(grant);
  assert.equal(status, 200);
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  assert.deepEqual([headers.get('cache-control'), headers.get('pragma')], ['no-store', 'no-cache']);
  assert.deepEqual(Object.keys(body).sort(), ['access_token', 'expires_in', 'scope', 'token_type']);
  assert.deepEqual([body['token_type'], body['expires_in']], ['Bearer', 3600]);
});

test('OAUTH-07: by default grant_type and scope count in the body only', async () => {
  const headers = {
    authorization: basic(server.client),
    'content-type': 'application/x-www-form-urlencoded',
  };
  const query = '?grant_type=client_credentials&scope=messaging.api';
  assertOauthError(await server.call(tokenPath + query, { method: 'POST', headers }), 400, 'invalid_request');
});

test('OAUTH-07: the tolerant switch takes them from the query, but never credentials', async () => {
  const tolerant = await startOauthServer({ acceptsQueryParameters: true });
  const call = (query: string, body = ''): Promise<Answer> =>
    tolerant.call(tokenPath + query, {
      method: 'POST',
      headers: { authorization: basic(tolerant.client), 'content-type': 'application/x-www-form-urlencoded' },
      body,
    });
  assert.equal(
    (await call('?grant_type=client_credentials&scope=messaging.api')).body['scope'],
    'messaging.api',
  );
  assert.equal((await call('?scope=messaging.api', 'grant_type=client_credentials')).status, 200);
  assertOauthError(
    await call('?grant_type=client_credentials', 'grant_type=client_credentials'),
    400,
    'invalid_request',
  );
  assertOauthError(await call('?grant_type=client_credentials&client_secret=x'), 400, 'invalid_request');
});

test('OAUTH-07: credentials in the address are refused, also where nothing else of it counts and none are in a header', async () => {
  const { clientId, clientSecret } = server.client;
  const query = `?client_id=${clientId}&client_secret=${encodeURIComponent(clientSecret)}`;
  const answer = await server.call(tokenPath + query, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials',
  });
  assertOauthError(answer, 400, 'invalid_request');
});

test('OAUTH-11: a token has 256 random bits and is stored as SHA-256 only; a secret under a slow hash', async () => {
  const token = await server.accessToken();
  assert.equal(Buffer.from(token, 'base64url').length, 32);
  assert.notEqual(token, await server.accessToken());
  const file = readAll(server.dataDir);
  assert.ok(!file.includes(token) && !file.includes(Buffer.from(token, 'base64url')));
  assert.ok(!file.includes(server.client.clientSecret));
  const rows = await server.storage
    .tables<{ oauth_client: { secret_cost: number } }>()
    .selectFrom('oauth_client')
    .select('secret_cost')
    .execute();
  assert.ok(rows.every((row) => row.secret_cost >= 2 ** 14));
});

function readAll(folder: string): Buffer {
  return Buffer.concat(readdirSync(folder).map((name) => readFileSync(path.join(folder, name))));
}

test('OAUTH-14: no error repeats a secret, a token or anything else of the request', async () => {
  const hostile = 'geheim"\\\r\n<x>';
  const answers = await Promise.all([
    server.token({ ...grant, scope: hostile }),
    server.token({ grant_type: hostile }),
    server.token({ ...grant, client_secret: hostile }),
    server.token(grant, { authorization: basic({ clientId: 'geheim', clientSecret: 'geheim' }) }),
  ]);
  for (const { body, text } of answers) {
    assert.ok(!text.includes('geheim'));
    for (const value of Object.values(body)) assert.match(String(value), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  }
});

test('tokens and secrets are in no log line and in no audit row', async () => {
  const token = await server.accessToken();
  await server.call('/directory-route', { headers: { authorization: `Bearer ${token}` } });
  await server.token(grant, {
    authorization: basic({ clientId: server.client.clientId, clientSecret: 'a-wrong-secret' }),
  });
  const written = server.log.join('') + JSON.stringify(await server.audit.find({ limit: 1000 }));
  for (const secret of [token, server.client.clientSecret, 'a-wrong-secret', basic(server.client)])
    assert.ok(!written.includes(secret));
  assert.ok(server.log.length > 0);
});

test('SEC-02: tokens issued and refused are audited with client, reason, request and address', async () => {
  await server.token(grant, { 'x-request-id': 'audit-1' });
  await server.token(grant, {
    'x-request-id': 'audit-2',
    authorization: basic({ clientId: server.client.clientId, clientSecret: 'x' }),
  });
  const [issued] = await server.audit.find({ requestId: 'audit-1' });
  const [refused] = await server.audit.find({ requestId: 'audit-2' });
  assert.deepEqual(
    [issued?.action, issued?.outcome, issued?.actor, issued?.remoteAddress],
    ['token.issue', 'ok', server.client.clientId, '127.0.0.1'],
  );
  assert.deepEqual(
    [refused?.outcome, refused?.objects],
    ['refused', { clientId: server.client.clientId, code: 'OAUTH_CLIENT_INVALID' }],
  );
});

test('SEC-02: a refused revocation is audited like a refused token: a secret can be guessed there, too', async () => {
  const revoke = async (requestId: string, authorization: string, form: string): Promise<unknown[]> => {
    await server.call('/oauth2/direct/v1/revoke', {
      method: 'POST',
      headers: { authorization, 'x-request-id': requestId },
      body: new URLSearchParams(form),
    });
    const rows = await server.audit.find({ requestId });
    return rows.map(({ action, outcome, actor, objects }) => [action, outcome, actor, objects]);
  };
  const { clientId } = server.client;
  assert.deepEqual(await revoke('guess-1', basic({ clientId, clientSecret: 'guessed' }), 'token=x'), [
    ['token.revoke', 'refused', undefined, { clientId, code: 'OAUTH_CLIENT_INVALID' }],
  ]);
  assert.deepEqual(await revoke('guess-2', basic(server.client), ''), [
    ['token.revoke', 'refused', clientId, { code: 'OAUTH_REQUEST_INVALID' }],
  ]);
  assert.deepEqual(await revoke('guess-3', basic(server.client), 'token=unknown'), []);
});

test('D26: two secrets are valid during rotation; a revoked one ends with its tokens at once', async () => {
  const first = await server.oauth.clients.create({ name: 'x', scopes: ['messaging.api'] });
  const second = await server.oauth.clients.rotateSecret(first.clientId);
  assert.notEqual(first.clientSecret, second.clientSecret);
  const oldToken = String((await server.token(grant, { authorization: basic(first) })).body['access_token']);
  const newToken = String((await server.token(grant, { authorization: basic(second) })).body['access_token']);
  const use = async (token: string): Promise<number> =>
    (await server.call('/messaging-route', { headers: { authorization: `Bearer ${token}` } })).status;
  assert.deepEqual([await use(oldToken), await use(newToken)], [200, 200]);
  await server.oauth.clients.revokeSecret(first.clientId, first.secretId);
  assertOauthError(await server.token(grant, { authorization: basic(first) }), 401, 'invalid_client');
  assert.deepEqual([await use(oldToken), await use(newToken)], [401, 200]);
});

test('OAUTH-12: failed requests are held back with 429 and Retry-After, before any secret is looked at', async () => {
  const guarded = await startOauthServer({
    limits: { attemptsPerMinute: 3, tokensPerSecond: 1000, tokensBurst: 1000 },
  });
  const wrong = { authorization: basic({ clientId: guarded.client.clientId, clientSecret: 'x' }) };
  for (let attempt = 0; attempt < 3; attempt++)
    assertOauthError(await guarded.token(grant, wrong), 401, 'invalid_client');
  const held = await guarded.token(grant, wrong);
  assert.equal(held.status, 429);
  assert.ok(Number(held.headers.get('retry-after')) > 0);
  assert.equal(
    (await guarded.token(grant)).status,
    429,
    'the right secret must not be found out by asking faster',
  );
  guarded.clock.advance(60_000);
  assert.equal((await guarded.token(grant)).status, 200);
});

test('OAUTH-12: a client that has authenticated lately is not held back because of outsiders at its address', async () => {
  const guarded = await startOauthServer({
    limits: { attemptsPerMinute: 3, tokensPerSecond: 1000, tokensBurst: 1000 },
  });
  assert.equal((await guarded.token(grant)).status, 200);
  const wrong = { authorization: basic({ clientId: guarded.client.clientId, clientSecret: 'x' }) };
  for (let attempt = 0; attempt < 5; attempt++) await guarded.token(grant, wrong);
  assert.equal((await guarded.token(grant, wrong)).status, 429);
  assert.equal((await guarded.token(grant)).status, 200);
});

test('OAUTH-12: a client that asks for tokens without end is held back, too', async () => {
  const guarded = await startOauthServer({
    limits: { attemptsPerMinute: 100, tokensPerSecond: 1, tokensBurst: 2 },
  });
  const statuses = [];
  for (let attempt = 0; attempt < 3; attempt++) statuses.push((await guarded.token(grant)).status);
  assert.deepEqual(statuses, [200, 200, 429]);
});

test('OAUTH-13: revocation answers 200 for any token, ends one of the client and leaves those of others', async () => {
  const other = await server.oauth.clients.create({ name: 'x', scopes: ['messaging.api'] });
  const token = await server.accessToken();
  const revoke = (form: Record<string, string>, authorization: string): Promise<Answer> =>
    server.call('/oauth2/direct/v1/revoke', {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(form),
    });
  const use = async (): Promise<number> =>
    (await server.call('/messaging-route', { headers: { authorization: `Bearer ${token}` } })).status;
  assert.equal((await revoke({ token }, basic(other))).status, 200);
  assert.equal((await revoke({ token: 'unknown' }, basic(other))).status, 200);
  assert.equal(await use(), 200);
  assert.equal((await revoke({ token }, basic(server.client))).status, 200);
  assert.equal(await use(), 401);
  assertOauthError(await revoke({}, basic(server.client)), 400, 'invalid_request');
  assertOauthError(await revoke({ token }, 'Basic eDp5'), 401, 'invalid_client');
});

test('OAUTH-13: the metadata document names the endpoints and methods (RFC 8414)', async () => {
  const { body, headers } = await server.call('/.well-known/oauth-authorization-server');
  assert.deepEqual([headers.get('cache-control'), headers.get('pragma')], ['max-age=3600', null]);
  assert.equal(body['token_endpoint'], `${server.url}/oauth2/direct/v1/token`);
  assert.deepEqual(body['grant_types_supported'], ['client_credentials']);
  assert.deepEqual(body['token_endpoint_auth_methods_supported'], ['client_secret_basic']);
});
