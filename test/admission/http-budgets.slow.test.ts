/** Requests and bodies over a budget are refused before they are read (Decision 0020), over real sockets. */
import assert from 'node:assert/strict';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import type { HispFastify } from '../../src/app/http/index.ts';
import { sendBytes } from '../../src/app/http/messaging/inbox-routes.ts';
import { basic, startOauthServer, type OauthServer } from '../conformance/oauth-server.ts';
import { waitUntil } from '../support/processes.ts';

const megabyte = 1_000_000;
/** JSON of that many bytes. */
const jsonOf = (bytes: number): string => JSON.stringify('x'.repeat(bytes - 2));

/** Handlers wait for this, if it is set. */
let gate: Promise<void> | undefined;
/** Number of handlers that have begun. */
let handled = 0;
const routes = (app: HispFastify): void => {
  const onRequest = app.requireScope('messaging.api');
  app.post('/upload', { onRequest, bodyLimit: 2 * megabyte }, async ({ body }) => {
    handled++;
    await gate;
    return { length: (body as string).length };
  });
  app.post('/small', { onRequest, bodyLimit: 100_000 }, async () => ({}));
  // Estimated, and then known better.
  app.get('/large', { onRequest }, async (request, reply) => {
    request.reserveAnswer(megabyte);
    request.reserveAnswer(Number((request.query as { bytes: string }).bytes));
    const length = Number((request.query as { bytes: string }).bytes);
    return reply.send(Readable.from(Array.from({ length: length / 1000 }, () => Buffer.alloc(1000, ' '))));
  });
  app.get('/wait', { onRequest }, async () => {
    await gate;
    return {};
  });
};

const server = await startOauthServer({
  routes: [routes],
  env: {
    OPENHISP_HTTP_MAX_UPLOAD_BYTES: String(3 * megabyte),
    OPENHISP_HTTP_MAX_UPLOAD_BYTES_PER_CLIENT: String(2 * megabyte),
    OPENHISP_HTTP_MAX_REQUESTS: '12',
    OPENHISP_HTTP_MAX_REQUESTS_PER_CLIENT: '5',
    OPENHISP_HTTP_MAX_REQUESTS_PER_ADDRESS: '10',
    OPENHISP_HTTP_UPLOAD_WINDOW_SECONDS: '60',
  },
});
const first = await server.accessToken('messaging.api');
const second = await tokenOfNewClient(server);

async function tokenOfNewClient({ oauth, token }: OauthServer): Promise<string> {
  const client = await oauth.clients.create({ name: 'Other', scopes: ['messaging.api'] });
  const answer = await token(
    { grant_type: 'client_credentials', scope: 'messaging.api' },
    { authorization: basic(client) },
  );
  return String(answer.body['access_token']);
}

interface Upload {
  readonly request: ClientRequest;
  /** True once the server has asked for the body. */
  readonly isAskedFor: () => boolean;
  readonly answer: Promise<Refusal>;
}

interface Refusal {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly reason: string | undefined;
}

interface UploadOptions {
  readonly token?: string | undefined;
  readonly path?: string;
  readonly url?: string;
  readonly headers?: Record<string, string>;
  readonly localAddress?: string;
}

/** Offers a body of that length and waits to be asked for it; -1 for one of unknown length. */
function offer(length: number, options: UploadOptions = {}): Upload {
  const { token = first, path = '/upload', url = server.url, headers = {}, localAddress } = options;
  let isAskedFor = false;
  const outgoing = request(url + path, {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      expect: '100-continue',
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(length < 0 ? { 'transfer-encoding': 'chunked' } : { 'content-length': length }),
      ...headers,
    },
    ...(localAddress === undefined ? {} : { localAddress }),
  });
  outgoing.on('continue', () => (isAskedFor = true));
  outgoing.flushHeaders();
  const answer = new Promise<Refusal>((resolve, reject) => {
    outgoing.once('response', (response) => resolve(read(response)));
    outgoing.on('error', reject);
  });
  // Uploads that a test breaks off have no answer.
  answer.catch(() => {});
  return { request: outgoing, isAskedFor: () => isAskedFor, answer };
}

async function read(response: IncomingMessage): Promise<Refusal> {
  let text = '';
  for await (const chunk of response) text += String(chunk);
  const body = (text === '' ? {} : JSON.parse(text)) as { errors?: { reason: string }[] };
  return {
    status: response.statusCode ?? 0,
    retryAfter: response.headers['retry-after'],
    reason: body.errors?.[0]?.reason,
  };
}

const whenAskedFor = (upload: Upload): Promise<void> =>
  waitUntil(upload.isAskedFor, { what: 'the body to be asked for', timeoutMs: 30_000 });

async function refused(upload: Upload, status: number, reason: string): Promise<void> {
  const answer = await upload.answer;
  assert.deepEqual([answer.status, answer.reason], [status, reason]);
  if (status !== 413) assert.ok(Number(answer.retryAfter) > 0, 'Retry-After');
  assert.equal(upload.isAskedFor(), false, 'the body was asked for all the same');
  upload.request.destroy();
}

async function gauge(name: string, { url } = server): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

const connections = (): Promise<number> =>
  new Promise((resolve) => server.app.server.getConnections((_error, count) => resolve(count)));

const allReleased = (): Promise<void> =>
  waitUntil(
    async () =>
      (await gauge('openhisp_http_body_bytes')) === 0 &&
      (await gauge('openhisp_http_requests_in_progress')) === 0,
    { what: 'everything to be given back', timeoutMs: 30_000 },
  );

describe('bodies', () => {
  test('one that exceeds the budget of all callers is 503 before it is read, and accepted when the budget allows it', async () => {
    const held = offer(1.9 * megabyte);
    await whenAskedFor(held);
    held.request.write('"half of it');
    await refused(offer(1.2 * megabyte, { token: second }), 503, 'http_overloaded');
    held.request.destroy();
    await allReleased();
    const again = offer(1.2 * megabyte, { token: second });
    await whenAskedFor(again);
    again.request.end(jsonOf(1.2 * megabyte));
    assert.equal((await again.answer).status, 200);
    await allReleased();
  });

  test('one that its client has no room for is 429 before it is read; another client is served', async () => {
    const held = offer(1.5 * megabyte);
    await whenAskedFor(held);
    await refused(offer(0.6 * megabyte), 429, 'http_client_busy');
    const other = offer(0.6 * megabyte, { token: second });
    await whenAskedFor(other);
    other.request.end(jsonOf(0.6 * megabyte));
    assert.equal((await other.answer).status, 200);
    held.request.end(jsonOf(1.5 * megabyte));
    assert.equal((await held.answer).status, 200);
    await allReleased();
  });

  test('one over the limit of its route is 413 before it is read', async () => {
    await refused(offer(2 * megabyte + 1), 413, 'too_large');
    await allReleased();
  });

  test('without a token, or for an address that does not exist, nothing is read', async () => {
    const anonymous = offer(megabyte, { token: '' });
    assert.deepEqual([(await anonymous.answer).status, anonymous.isAskedFor()], [401, false]);
    const nowhere = offer(megabyte, { path: '/nowhere' });
    assert.deepEqual([(await nowhere.answer).status, nowhere.isAskedFor()], [404, false]);
    for (const upload of [anonymous, nowhere]) upload.request.destroy();
    await allReleased();
  });

  test('one of unknown length takes room as it comes, and is refused when there is none left', async () => {
    const held = offer(1.5 * megabyte);
    await whenAskedFor(held);
    const small = offer(-1, { token: second });
    await whenAskedFor(small);
    small.request.end(jsonOf(1000));
    assert.equal((await small.answer).status, 200);
    const large = offer(-1);
    await whenAskedFor(large);
    large.request.write(jsonOf(1.9 * megabyte).slice(0, -1));
    const answer = await large.answer;
    assert.deepEqual([answer.status, answer.reason], [429, 'http_client_busy']);
    large.request.destroy();
    held.request.destroy();
    await allReleased();
  });

  test('a client that does not wait to be asked sees the refusal too', async () => {
    const held = offer(1.9 * megabyte);
    await whenAskedFor(held);
    const response = await fetch(`${server.url}/upload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${second}`, 'content-type': 'application/json' },
      body: jsonOf(1.8 * megabyte),
    });
    assert.equal(response.status, 503);
    await response.text();
    held.request.destroy();
    await allReleased();
  });

  test('one of unknown length that exceeds the limit of its route is 413, which its client can read while it still sends', async () => {
    for (let round = 0; round < 10; round++) {
      const large = request(`${server.url}/small`, {
        method: 'POST',
        agent: false,
        headers: { authorization: `Bearer ${first}`, 'content-type': 'application/json' },
      });
      const answer = new Promise<Refusal>((resolve, reject) => {
        large.once('response', (response) => resolve(read(response)));
        large.once('error', reject);
      });
      // Much more than sockets hold, and all of it before the client looks at its answer.
      for (let part = 0; part < 20; part++) large.write('x'.repeat(megabyte));
      large.end();
      const { status, reason } = await answer;
      assert.deepEqual([status, reason], [413, 'too_large']);
    }
    await allReleased();
  });

  test('a connection whose client goes on sending after its refusal is closed', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    const isClosed = new Promise((resolve) => socket.once('close', resolve));
    let text = '';
    socket.on('data', (data) => (text += String(data))).on('error', () => {});
    const head = `POST /small HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\nAuthorization: Bearer ${first}\r\n`;
    socket.write(`${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const sending = setInterval(() => socket.write(`1388\r\n${'x'.repeat(5000)}\r\n`), 5);
    await isClosed;
    clearInterval(sending);
    assert.match(text, /^HTTP\/1\.1 413 /);
    await allReleased();
  });

  test('room is released only when the handler has ended, also if the client has gone', async () => {
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    const idleConnections = await connections();
    const upload = offer(megabyte);
    await whenAskedFor(upload);
    handled = 0;
    await new Promise<void>((resolve) => upload.request.end(jsonOf(megabyte), resolve));
    await waitUntil(() => handled > 0);
    upload.request.destroy();
    // That the client has gone is seen by the connection being closed.
    await waitUntil(async () => (await connections()) <= idleConnections);
    assert.equal(await gauge('openhisp_http_body_bytes'), megabyte);
    gate = undefined;
    open.resolve();
    await allReleased();
  });
});

describe('requests', () => {
  test('more than its share of a client are 429, of an address 429, of all 503; health is always answered', async () => {
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    const get = (token: string, localAddress = '127.0.0.1'): Promise<Refusal> =>
      new Promise((resolve, reject) => {
        const outgoing = request(`${server.url}/wait`, {
          agent: false,
          localAddress,
          headers: { authorization: `Bearer ${token}` },
        });
        outgoing.once('response', (response) => resolve(read(response)));
        outgoing.once('error', reject);
        outgoing.end();
      });
    const running = Array.from({ length: 5 }, () => get(first));
    await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress')) === 5);
    const busy = await get(first);
    assert.deepEqual(
      [busy.status, busy.reason, Number(busy.retryAfter) > 0],
      [429, 'http_client_busy', true],
    );
    running.push(...Array.from({ length: 5 }, () => get(second)));
    await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress')) === 10);
    // Of those without a token none is under way here.
    assert.equal((await fetch(`${server.url}/wait`)).status, 401);
    // From another address there is room for two more, of callers that are not known yet.
    running.push(...['127.0.0.2', '127.0.0.4'].map((address) => slowBody(address)));
    await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress')) === 12);
    const over = await get(first, '127.0.0.3');
    assert.deepEqual([over.status, over.reason, Number(over.retryAfter) > 0], [503, 'http_overloaded', true]);
    assert.equal((await server.call('/health/live')).status, 200);
    gate = undefined;
    open.resolve();
    for (const end of ends.splice(0)) end();
    const statuses = await Promise.all(running.map(async (one) => (await one).status));
    assert.deepEqual(
      statuses.slice(0, 10),
      Array.from({ length: 10 }, () => 200),
    );
    await allReleased();
  });

  test('addresses of one IPv6 /64 share the limit per address; the next /64 has its own', async () => {
    const proxied = await startOauthServer({
      routes: [routes],
      env: { OPENHISP_HTTP_TRUSTED_PROXIES: '127.0.0.1', OPENHISP_HTTP_MAX_REQUESTS_PER_ADDRESS: '3' },
    });
    const authorization = `Bearer ${await proxied.accessToken('messaging.api')}`;
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    const get = (address: string): Promise<Response> =>
      fetch(`${proxied.url}/wait`, { headers: { authorization, 'x-forwarded-for': address } });
    const running = ['2001:db8:0:1::1', '2001:db8:0:1:2::1', '2001:db8:0:1:ffff::1'].map(get);
    await waitUntil(async () =>
      (await (await fetch(`${proxied.url}/metrics`)).text()).includes('openhisp_http_requests_in_progress 3'),
    );
    assert.equal((await get('2001:db8:0:1:3::9')).status, 429);
    running.push(get('2001:db8:0:2::1'));
    await waitUntil(async () =>
      (await (await fetch(`${proxied.url}/metrics`)).text()).includes('openhisp_http_requests_in_progress 4'),
    );
    gate = undefined;
    open.resolve();
    for (const answer of running) assert.equal((await answer).status, 200);
  });

  test('callers without a token, however many, leave half of the room to those with one', async () => {
    const running = Array.from({ length: 6 }, (_, index) => slowBody(`127.0.0.${index + 2}`));
    await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress')) === 6);
    for (const headers of [undefined, { authorization: `Bearer ${first}` }])
      assert.equal((await server.token({ grant_type: 'client_credentials' }, headers)).status, 503);
    for (const token of [first, second]) {
      const answer = await fetch(`${server.url}/wait`, { headers: { authorization: `Bearer ${token}` } });
      assert.equal(answer.status, 200);
    }
    const forged = await fetch(`${server.url}/wait`, { headers: { authorization: 'Bearer forged' } });
    assert.equal(forged.status, 401);
    for (const end of ends.splice(0)) end();
    await Promise.all(running);
    await allReleased();
  });

  test('half requests of a few addresses, or of many for long, make room for an address with fewer', async () => {
    const ask = () => server.token({ grant_type: 'client_credentials' });
    const few = Array.from({ length: 6 }, (_, index) => slowBody(`127.0.0.${2 + (index % 2)}`));
    await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress')) === 6);
    for (let count = 0; count < 3; count++) assert.equal((await ask()).status, 200);
    assert.ok((await gauge('openhisp_http_evicted_total')) >= 1);
    for (const end of ends.splice(0)) end();
    await Promise.allSettled(few);
    await allReleased();
    const many = Array.from({ length: 6 }, (_, index) => slowBody(`127.0.0.${2 + index}`));
    await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress')) === 6);
    assert.equal((await ask()).status, 503);
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    assert.equal((await ask()).status, 200);
    for (const end of ends.splice(0)) end();
    await Promise.allSettled(many);
    await allReleased();
  });

  test('a token request counts as one without a token, however its path and its Authorization are written', async () => {
    const paths = ['/%6fauth2/direct/v1/token', '/oauth2/direct/v1/token'];
    const running = Array.from({ length: 9 }, (_, index) =>
      slowBody(`127.0.0.${index + 2}`, { path: paths[index % 2] ?? '', authorization: 'Bearer forged' }),
    );
    await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress')) === 6);
    const answer = await fetch(`${server.url}/wait`, { headers: { authorization: `Bearer ${first}` } });
    assert.equal(answer.status, 200);
    for (const end of ends.splice(0)) end();
    const statuses = await Promise.all(running.map(async (one) => (await one).status));
    assert.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [...Array<number>(6).fill(401), ...Array<number>(3).fill(503)],
    );
    await allReleased();
  });

  test('answers that wait behind an earlier one release their room when their connection is closed', async () => {
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write(`GET /wait HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${first}\r\n\r\n`);
    socket.write('GET /.well-known/oauth-authorization-server HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3));
    await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress')) === 4);
    const before = await connections();
    socket.destroy();
    await waitUntil(async () => (await connections()) < before);
    gate = undefined;
    open.resolve();
    await allReleased();
  });

  const ends: (() => void)[] = [];
  /** A token request whose body is not there yet. */
  function slowBody(
    localAddress: string,
    { path = '/oauth2/direct/v1/token', authorization }: { path?: string; authorization?: string } = {},
  ): Promise<Refusal> {
    const upload = offer(30, {
      token: '',
      path,
      localAddress,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(authorization !== undefined && { authorization }),
      },
    });
    ends.push(() => upload.request.end('x'.repeat(30)));
    return upload.answer;
  }
});

test('answers that clients do not take count with bodies, and end their connections when they stop', async () => {
  const slow = await startOauthServer({
    routes: [routes],
    env: {
      OPENHISP_HTTP_MAX_UPLOAD_BYTES: String(22 * megabyte),
      OPENHISP_HTTP_MAX_UPLOAD_BYTES_PER_CLIENT: String(20 * megabyte),
      OPENHISP_HTTP_UPLOAD_WINDOW_SECONDS: '2',
      OPENHISP_HTTP_MIN_UPLOAD_BYTES_PER_SECOND: '100000',
    },
  });
  const [own, other] = [await slow.accessToken('messaging.api'), await tokenOfNewClient(slow)];
  const get = (token: string, bytes: number) =>
    fetch(`${slow.url}/large?bytes=${bytes}`, { headers: { authorization: `Bearer ${token}` } });
  const socket = connect(Number(new URL(slow.url).port), '127.0.0.1');
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => {});
  socket.write(
    `GET /large?bytes=${18 * megabyte} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own}\r\n\r\n`,
  );
  await waitUntil(async () => (await gauge('openhisp_http_body_bytes', slow)) === 18 * megabyte);
  const answers = [await get(own, 3 * megabyte), await get(other, 5 * megabyte)];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [429, 503],
  );
  const fits = await get(other, 3 * megabyte);
  assert.equal((await fits.arrayBuffer()).byteLength, 3 * megabyte);
  await waitUntil(async () => (await gauge('openhisp_http_body_bytes', slow)) === 0, { timeoutMs: 30_000 });
  assert.equal(await gauge('openhisp_http_slow_readers_total', slow), 1);
  socket.resume();
  await closed;
  assert.equal((await get(own, 18 * megabyte)).status, 200);
});

test('a client that takes a large answer steadily is not ended between two steps of its socket', async () => {
  // Over loopback the system takes about a megabyte at a time, 2.5 s at this reader's rate.
  const [length, rate] = [24 * megabyte, 600_000];
  const content = Buffer.alloc(length, 'x');
  const answering = await startOauthServer({
    routes: [
      (app) =>
        app.get('/content', { onRequest: app.requireScope('messaging.api') }, async (request, reply) => {
          request.reserveAnswer(length);
          return sendBytes(reply as unknown as FastifyReply, [content]);
        }),
    ],
    env: {
      OPENHISP_HTTP_UPLOAD_WINDOW_SECONDS: '0.5',
      OPENHISP_HTTP_MIN_UPLOAD_BYTES_PER_SECOND: '20000',
    },
  });
  const token = await answering.accessToken('messaging.api');
  const onread = { buffer: Buffer.alloc(16_384), callback: () => isFast };
  let isFast = false;
  const socket = connect({ port: Number(new URL(answering.url).port), host: '127.0.0.1', onread });
  after(() => socket.destroy());
  socket.on('error', () => {});
  socket.write(`GET /content HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  const reading = setInterval(() => socket.resume(), (16_384 / rate) * 1000);
  await delay(4_000);
  clearInterval(reading);
  assert.equal(await gauge('openhisp_http_slow_readers_total', answering), 0);
  isFast = true;
  socket.resume();
  await waitUntil(() => socket.bytesRead > length, { what: 'the whole answer', timeoutMs: 30_000 });
});

test('a body that arrives too slowly ends the connection with 408, and its room is released', async () => {
  const slow = await startOauthServer({
    routes: [routes],
    env: {
      OPENHISP_HTTP_MIN_UPLOAD_BYTES_PER_SECOND: '2000',
      OPENHISP_HTTP_UPLOAD_WINDOW_SECONDS: '0.5',
    },
  });
  const token = await slow.accessToken('messaging.api');
  const socket = connect(Number(new URL(slow.url).port), '127.0.0.1');
  after(() => socket.destroy());
  socket.on('error', () => {});
  let received = '';
  let isClosed = false;
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.on('close', () => (isClosed = true));
  socket.write(
    `POST /upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"`,
  );
  const dripping = setInterval(() => socket.write('x'), 20);
  await waitUntil(() => isClosed, { timeoutMs: 30_000, what: 'the connection to be ended' });
  clearInterval(dripping);
  assert.match(received, /^HTTP\/1\.1 408 /);
  const envelope = JSON.parse(received.slice(received.indexOf('{'))) as Record<string, unknown>;
  const [, requestId] = /^X-Request-Id: (\S+)/m.exec(received) ?? [];
  assert.deepEqual([envelope['code'], envelope['requestId']], [408, requestId]);
  await waitUntil(async () => (await gauge('openhisp_http_body_bytes', slow)) === 0);
  // A fast one on the same server is not disturbed.
  const fast = offer(1.5 * megabyte, { url: slow.url, token });
  await whenAskedFor(fast);
  fast.request.end(jsonOf(1.5 * megabyte));
  assert.equal((await fast.answer).status, 200);
});

test('an answer that a caller without a valid token does not take ends its connection; a client may read slowly', async () => {
  const page = Buffer.alloc(32 * megabyte, 'x');
  const large = (app: HispFastify): void => {
    app.get('/page', async (_request, reply) => reply.send(page));
    app.get('/own', { onRequest: app.requireScope('messaging.api') }, async (_request, reply) =>
      reply.send(page),
    );
  };
  const slow = await startOauthServer({
    routes: [large],
    env: { OPENHISP_HTTP_UNAUTHENTICATED_ANSWER_SECONDS: '0.5' },
  });
  const token = await slow.accessToken('messaging.api');
  const ask = (path: string, authorization: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const outgoing = request(slow.url + path, { agent: false, headers: { authorization } });
      outgoing.once('response', resolve).once('error', reject).end();
    });
  const own = await ask('/own', `Bearer ${token}`);
  const unread = await ask('/page', 'Bearer forged');
  let isCut = false;
  unread.once('error', () => (isCut = true));
  assert.equal(await gauge('openhisp_http_requests_in_progress', slow), 2);
  await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress', slow)) === 1);
  assert.equal(await gauge('openhisp_http_slow_readers_total', slow), 1);
  unread.resume();
  await waitUntil(() => isCut, { what: 'the connection to be cut' });
  let length = 0;
  for await (const chunk of own) length += (chunk as Buffer).length;
  assert.equal(length, page.length);
});

test('an answer to nobody known that waits behind one that has no limit holds its share only for the usual time', async () => {
  const page = Buffer.alloc(32 * megabyte, 'x');
  const large = (app: HispFastify): void => {
    app.get('/health/large', async (_request, reply) => reply.send(page));
  };
  const slow = await startOauthServer({
    routes: [large],
    env: { OPENHISP_HTTP_UNAUTHENTICATED_ANSWER_SECONDS: '0.3' },
  });
  const socket = connect(Number(new URL(slow.url).port), '127.0.0.1').on('error', () => {});
  socket.write('GET /health/large HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3));
  await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress', slow)) === 3);
  await waitUntil(async () => (await gauge('openhisp_http_requests_in_progress', slow)) === 0);
  assert.ok((await gauge('openhisp_http_slow_readers_total', slow)) > 0);
  socket.destroy();
});

test('64 requests at once are all answered 200 although the event loop was held', async () => {
  const block = (app: HispFastify): void => {
    app.post('/block', { onRequest: app.requireScope('messaging.api') }, async () => {
      const until = performance.now() + 20;
      while (performance.now() < until);
      return {};
    });
  };
  const busy = await startOauthServer({ routes: [block] });
  const token = await busy.accessToken('messaging.api');
  const statuses = await Promise.all(
    Array.from({ length: 64 }, async () => {
      const answer = await busy.call('/block', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{}',
      });
      return answer.status;
    }),
  );
  assert.deepEqual(new Set(statuses), new Set([200]));
});
