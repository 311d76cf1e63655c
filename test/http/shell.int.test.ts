import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { Type } from 'typebox';
import { errorResponses, setRateLimitHeaders, type HispFastify } from '../../src/app/http/index.ts';
import { PlatformError } from '../../src/platform/index.ts';
import { startOauthServer, type Answer } from '../conformance/oauth-server.ts';

const bodySchema = Type.Object(
  {
    name: Type.String({ maxLength: 5 }),
    isOn: Type.Optional(Type.Boolean({ default: false })),
    list: Type.Optional(
      Type.Array(Type.Object({ size: Type.Integer({ minimum: 1 }) }, { additionalProperties: false })),
    ),
  },
  { additionalProperties: false },
);

function exampleRoutes(app: HispFastify): void {
  app.post(
    '/echo',
    { schema: { body: bodySchema, response: { 200: bodySchema, ...errorResponses(400) } } },
    async (request) => request.body,
  );
  const querystring = Type.Object(
    {
      limit: Type.Integer({ default: 10, minimum: 1 }),
      flag: Type.Optional(Type.Boolean()),
      month: Type.Optional(Type.String({ pattern: '^2', description: '`2026-11`, in UTC.' })),
      by: Type.Optional(Type.Enum(['day', 'month'])),
    },
    { additionalProperties: false },
  );
  app.get('/page', { schema: { querystring } }, async (request) => request.query);
  app.get('/things/:id', async () => ({}));
  app.delete('/things/:id', async () => ({}));
  app.get('/bug', async () => {
    throw new TypeError('geheim: a line for operators');
  });
  app.get('/busy', async () => {
    throw new PlatformError('PLATFORM_STORAGE_BUSY', 'geheim');
  });
  app.get('/limited', async (_request, reply) => {
    setRateLimitHeaders(reply, {
      allowed: true,
      remaining: 0,
      retryAfterSeconds: 0,
      nextSeconds: 2,
      limit: 10,
    });
    return {};
  });
  app.get('/no-check', async (request) => request.client);
}

const server = await startOauthServer({
  routes: [exampleRoutes],
  env: { OPENHISP_HTTP_MAX_BODY_BYTES: '2000' },
});
const post = (body: string, type = 'application/json'): Promise<Answer> =>
  server.call('/echo', { method: 'POST', headers: { 'content-type': type }, body });

function assertEnvelope(
  answer: Answer,
  status: number,
  message: string,
  problems?: readonly (readonly [field: string, reason: string])[],
): void {
  assert.deepEqual(
    [answer.status, answer.body['status'], answer.body['code'], answer.body['message']],
    [status, 'Error', status, message],
    answer.text,
  );
  assert.deepEqual(Object.keys(answer.body), ['status', 'code', 'message', 'errors', 'requestId']);
  assert.equal(answer.body['requestId'], answer.headers.get('x-request-id'));
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  const found = answer.body['errors'] as { field: string; reason: string; detail: string }[];
  assert.ok(found.length > 0 && found.every((problem) => problem.detail.length > 0));
  if (problems !== undefined)
    assert.deepEqual(
      found.map((problem) => [problem.field, problem.reason]),
      problems,
    );
}

test('D23: faulty fields of a body are all named, with their place', async () => {
  assertEnvelope(await post('{}'), 400, 'Required Params Missing', [['name', 'required']]);
  assertEnvelope(await post('{"name":"toolong","isOn":"true"}'), 400, 'Required Params Missing', [
    ['name', 'too_long'],
    ['isOn', 'wrong_type'],
  ]);
  assertEnvelope(
    await post('{"name":"a","list":[{"size":1},{"size":0,"x":1}]}'),
    400,
    'Required Params Missing',
    [
      ['list[1].x', 'unknown'],
      ['list[1].size', 'out_of_range'],
    ],
  );
  assertEnvelope(await post('{"name":"a","nmae":"b"}'), 400, 'Required Params Missing', [
    ['nmae', 'unknown'],
  ]);
  assertEnvelope(await post('[]'), 400, 'Required Params Missing', [['', 'wrong_type']]);
});

test('a body is not coerced: text does not become a boolean or a number', async () => {
  assert.deepEqual((await post('{"name":"a"}')).body, { name: 'a', isOn: false });
  assertEnvelope(await post('{"name":1}'), 400, 'Required Params Missing', [['name', 'wrong_type']]);
});

test('query parameters become numbers; faulty, repeated and unknown ones are named (D12)', async () => {
  assert.deepEqual((await server.call('/page?limit=5&flag=true')).body, { limit: 5, flag: true });
  assert.deepEqual((await server.call('/page')).body, { limit: 10 });
  assertEnvelope(await server.call('/page?limit=abc'), 400, 'Required Params Missing', [
    ['limit', 'wrong_type'],
  ]);
  assertEnvelope(await server.call('/page?limit=5&limit=6'), 400, 'Required Params Missing', [
    ['limit', 'repeated'],
  ]);
  const { errors } = (await server.call('/page?month=x&by=x')).body as { errors: { detail: string }[] };
  assert.deepEqual(
    errors.map(({ detail }) => detail),
    ['month does not have the required form: `2026-11`, in UTC.', 'by must be one of day, month.'],
  );
  assertEnvelope(await server.call('/page?limti=5'), 400, 'Required Params Missing', [['limti', 'unknown']]);
});

test('a body that is no JSON, empty, of another type or too large is refused in the envelope', async () => {
  assertEnvelope(await post('{"name":'), 400, 'Required Params Missing', [['', 'malformed']]);
  assertEnvelope(await post(''), 400, 'Required Params Missing', [['', 'malformed']]);
  assertEnvelope(await post('{"name":"a","__proto__":{"x":1}}'), 400, 'Required Params Missing', [
    ['', 'malformed'],
  ]);
  const plain = (await post('name', 'text/plain')).body as { errors: { detail: string }[] };
  assert.equal(
    plain.errors[0]?.detail,
    'A body with this Content-Type is not accepted here. Send application/json.',
  );
  assertEnvelope(await post('name=a', 'application/x-www-form-urlencoded'), 415, 'Unsupported Media Type', [
    ['', 'unsupported_media_type'],
  ]);
  assertEnvelope(await post(`{"name":"${'a'.repeat(3000)}"}`), 413, 'Content Too Large', [['', 'too_large']]);
});

test('an unknown address is 404, a known one with another method 405 with Allow', async () => {
  assertEnvelope(await server.call('/nowhere'), 404, 'Not Found');
  const answer = await server.call('/things/1', { method: 'PATCH' });
  assertEnvelope(answer, 405, 'Method Not Allowed', [['', 'method_not_allowed']]);
  assert.equal(answer.headers.get('allow'), 'DELETE, GET, HEAD');
});

test('an address that cannot be decoded is 400 in the envelope', async () => {
  assertEnvelope(await server.call('/things/%zz'), 400, 'Required Params Missing');
});

test('a bug is 500, logged with its cause, and nothing of it gets out', async () => {
  const answer = await server.call('/bug', { headers: { 'x-request-id': 'bug-1' } });
  assertEnvelope(answer, 500, 'Internal Server Error', [['', 'internal']]);
  assert.ok(!answer.text.includes('geheim'));
  assert.ok(server.log.some((line) => line.includes('bug-1') && line.includes('geheim')));
  assertEnvelope(await server.call('/no-check'), 500, 'Internal Server Error');
});

test('an unavailable part is 503 with Retry-After', async () => {
  const answer = await server.call('/busy');
  assertEnvelope(answer, 503, 'Service Unavailable', [['', 'platform_storage_busy']]);
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
  assert.ok(!answer.text.includes('geheim'));
});

test('accepts a harmless X-Request-Id, generates one otherwise, and always returns it', async () => {
  const idOf = async (given?: string): Promise<string | null> =>
    (
      await server.call('/health/live', given === undefined ? {} : { headers: { 'x-request-id': given } })
    ).headers.get('x-request-id');
  assert.equal(await idOf('my-id.1:2'), 'my-id.1:2');
  for (const given of [undefined, '<script>', 'a'.repeat(129), 'a b'])
    assert.match((await idOf(given)) ?? '', /^[0-9a-f-]{36}$/);
});

test('answers carry the headers that protect, and HSTS only where TLS is spoken (OAUTH-15)', async () => {
  const { headers } = await server.call('/health/live');
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('x-frame-options'), 'DENY');
  assert.equal(headers.get('referrer-policy'), 'no-referrer');
  assert.equal(headers.get('strict-transport-security'), null);
  const behindProxy = await startOauthServer({ env: { OPENHISP_HTTP_IS_BEHIND_TLS_PROXY: 'true' } });
  assert.match(
    (await behindProxy.call('/health/live')).headers.get('strict-transport-security') ?? '',
    /max-age=31536000/,
  );
});

test('X-Forwarded-For is accepted from a named proxy only', async () => {
  const addressSeen = async (env: Record<string, string>): Promise<string | undefined> => {
    const one = await startOauthServer({ env });
    await one.call('/directory-route', {
      headers: { 'x-forwarded-for': '192.0.2.7', 'x-request-id': 'proxy-1' },
    });
    return (await one.audit.find({ requestId: 'proxy-1' }))[0]?.remoteAddress;
  };
  assert.equal(await addressSeen({}), '127.0.0.1');
  assert.equal(await addressSeen({ OPENHISP_HTTP_TRUSTED_PROXIES: '127.0.0.1' }), '192.0.2.7');
});

test('liveness and readiness distinguish failures', async () => {
  assert.deepEqual((await server.call('/health/live')).body, { status: 'OK' });
  assert.deepEqual((await server.call('/health/ready')).body, { status: 'OK', checks: ['storage'] });
  const broken = await startOauthServer();
  await broken.storage.close();
  assertEnvelope(await broken.call('/health/ready'), 503, 'Service Unavailable', [
    ['storage', 'platform_storage_closed'],
  ]);
  assert.equal((await broken.call('/health/live')).status, 200);
});

test('metrics count requests by the route and never by its values', async () => {
  await server.call('/things/bob@direct.example.org');
  const { status, text } = await server.call('/metrics');
  assert.equal(status, 200);
  assert.match(
    text,
    /openhisp_http_request_seconds_count\{method="GET",route="\/things\/:id",status="200"\} 1/,
  );
  assert.ok(!text.includes('bob'));
});

test('metrics are for this machine unless the operator opens them', async () => {
  const env = { OPENHISP_HTTP_TRUSTED_PROXIES: '127.0.0.1' };
  const headers = { 'x-forwarded-for': '192.0.2.7' };
  assert.equal((await (await startOauthServer({ env })).call('/metrics', { headers })).status, 404);
  const open = await startOauthServer({ env: { ...env, OPENHISP_HTTP_EXPOSES_METRICS: 'true' } });
  assert.equal((await open.call('/metrics', { headers })).status, 200);
});

test('refused accesses and tokens are counted by reason', async () => {
  const counted = await startOauthServer();
  await counted.call('/directory-route');
  await counted.token({ grant_type: 'client_credentials' });
  await counted.token({ grant_type: 'password' });
  const { text } = await counted.call('/metrics');
  for (const line of [
    'openhisp_access_refused_total{code="OAUTH_TOKEN_MISSING"} 1',
    'openhisp_tokens_issued_total 1',
    'openhisp_tokens_refused_total{code="OAUTH_GRANT_UNSUPPORTED"} 1',
  ]) {
    assert.ok(text.includes(line), line);
  }
});

test('the log has one line per request and one more per refusal, without query or path values', async () => {
  await server.call('/page?limit=5&patient=geheimnis', { headers: { 'x-request-id': 'log-1' } });
  await server.call('/things/geheimnis', { headers: { 'x-request-id': 'log-2' } });
  const lines = server.log.filter((line) => /log-[12]/.test(line));
  // The first has a parameter that is unknown, and is refused.
  assert.equal(lines.length, 3);
  assert.equal(lines.filter((line) => line.includes('a request was refused')).length, 1);
  assert.ok(!lines.join('').includes('geheimnis'));
});

test('rate limit headers show limit, remaining requests and wait (D27)', async () => {
  const { headers } = await server.call('/limited');
  assert.deepEqual(
    ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`)),
    ['10', '0', '2'],
  );
});

test('the API document is OpenAPI 3.1, made from the schemas, with the scope of each route', async () => {
  const { body } = await server.call('/openapi.json');
  const paths = body['paths'] as Record<
    string,
    Record<string, { security?: unknown; requestBody?: unknown; responses?: object }>
  >;
  assert.equal(body['openapi'], '3.1.0');
  assert.deepEqual(paths['/directory-route']?.['get']?.security, [{ token: ['provider-directory'] }]);
  assert.ok(JSON.stringify(paths['/echo']?.['post']?.requestBody).includes('"maxLength":5'));
  assert.deepEqual(Object.keys(paths['/echo']?.['post']?.responses ?? {}), [
    '200',
    '400',
    '405',
    '408',
    '429',
    '431',
    '500',
    '503',
  ]);
  const form = JSON.stringify(paths['/oauth2/direct/v1/token']?.['post']?.requestBody);
  assert.ok(
    form.includes('application/x-www-form-urlencoded') && form.includes('#/components/schemas/TokenRequest'),
  );
});

test('the readable page comes from this server alone, under a strict policy', async () => {
  const page = await server.call('/docs/');
  assert.equal(page.status, 200);
  const policy = page.headers.get('content-security-policy') ?? '';
  assert.match(policy, /default-src 'none'; script-src 'self'/);
  assert.doesNotMatch(page.text, /(src|href)="(https?:)?\/\//);
  const addresses = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)];
  assert.ok(addresses.length > 0);
  for (const [, address] of addresses) {
    assert.equal(
      (await server.call(new URL(address ?? '', `${server.url}/docs/`).pathname)).status,
      200,
      address,
    );
  }
  assert.doesNotMatch(page.text, /<script>[^<]/, 'an inline script would not run under the policy');
});

test('a request that is no HTTP at all is answered and the connection closed', async () => {
  const { hostname, port } = new URL(server.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.end('NONSENSE\r\n\r\n');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  assert.match(answer, /^HTTP\/1\.1 400 /);
});
