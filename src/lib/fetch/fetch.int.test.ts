import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { errorText } from '../../core/index.ts';
import { makeTlsCertificate } from '../../../test/support/tls-certificate.ts';
import {
  createGuardedFetch,
  createKeepingFetch,
  type GuardedFetchOptions,
  type KeptConnections,
} from './guarded-fetch.ts';
import { createTargetGuard } from './target-guard.ts';

interface Seen {
  readonly port: number;
  readonly requests: string[];
}

async function start(
  t: TestContext,
  listener: RequestListener,
  server: Server = createServer(),
): Promise<Seen> {
  const requests: string[] = [];
  server.on('request', (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

const fetchWith = (more: Partial<GuardedFetchOptions> = {}) =>
  createGuardedFetch({ timeoutMs: 2_000, maxBytes: 10_000, ...more });
const loopback = async () => ['127.0.0.1'];

test('GET and POST: status, headers and body', async (t) => {
  const { port } = await start(t, (request, response) => {
    response.setHeader('x-seen', `${request.headers['content-type']} ${request.headers['content-length']}`);
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.statusCode = 410;
    request.pipe(response);
  });
  const fetch = fetchWith({ allowPrivate: true });
  const answer = await fetch(`http://127.0.0.1:${port}/hook`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"id":"ü"}',
  });
  assert.equal(answer.status, 410);
  assert.equal(answer.headers['x-seen'], 'application/json 11');
  assert.equal(answer.headers['set-cookie'], 'a=1, b=2');
  assert.equal(Buffer.from(answer.body).toString(), '{"id":"ü"}');
  assert.equal((await fetch(`http://127.0.0.1:${port}/`)).body.length, 0);
});

test('a coding is not asked for; one that was applied all the same is undone, or refused', async (t) => {
  const text = Buffer.from('a list'.repeat(100));
  const codings: Record<string, Buffer> = {
    '/identity': text,
    '/gzip': gzipSync(text),
    '/x-gzip': gzipSync(text),
    '/deflate': deflateSync(text),
    '/deflate, identity': deflateRawSync(text),
    '/none': text,
    '/UTF-8': text,
    '/br': brotliCompressSync(text),
    '/GZIP': gzipSync(text),
    '/gzip, gzip': gzipSync(gzipSync(text)),
    '/zstd': text,
    '/gzip, gzip, gzip': gzipSync(gzipSync(gzipSync(text))),
    '/broken gzip': gzipSync(text),
    '/gzip, identity': gzipSync(text),
    '/bomb': gzipSync(Buffer.alloc(20_000)),
    '/truncated': gzipSync(text).subarray(0, 20),
    '/plain': text,
  };
  const asked = new Set<string | undefined>();
  const { port } = await start(t, (request, response) => {
    asked.add(request.headers['accept-encoding']?.toString());
    const name = decodeURIComponent(request.url ?? '');
    const others: Record<string, string> = { '/bomb': 'gzip', '/truncated': 'gzip', '/plain': 'gzip' };
    response.setHeader('content-encoding', others[name] ?? name.slice(1));
    response.end(codings[name]);
  });
  const fetch = fetchWith({ allowPrivate: true });
  const get = (name: string) => fetch(`http://127.0.0.1:${port}${encodeURI(name)}`);
  const refused: Record<string, string> = {
    '/zstd': 'FETCH_CODING_UNSUPPORTED',
    '/gzip, gzip, gzip': 'FETCH_CODING_UNSUPPORTED',
    '/broken gzip': 'FETCH_CODING_UNSUPPORTED',
    '/bomb': 'FETCH_TOO_LARGE',
    '/truncated': 'FETCH_FAILED',
    '/plain': 'FETCH_FAILED',
  };
  for (const name of Object.keys(codings)) {
    const code = refused[name];
    if (code === undefined) assert.deepEqual(Buffer.from((await get(name)).body), text, name);
    else await assert.rejects(get(name), { code }, name);
  }
  assert.deepEqual([...asked], ['identity']);
  const parts = fetchWith({ allowPrivate: true, takesPart: true });
  assert.equal((await parts(`http://127.0.0.1:${port}/zstd`)).status, 200);
});

test('HOOK-03: private targets are refused, however they are written, and nothing is sent to them', async (t) => {
  const { port, requests } = await start(t, (_, response) => response.end());
  const fetch = fetchWith({ findAddresses: loopback });
  for (const host of [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    'receiver.example',
    'localhost',
    '0.0.0.0',
    '[::]',
  ]) {
    await assert.rejects(fetch(`http://${host}:${port}/`), { code: 'FETCH_TARGET_FORBIDDEN' }, host);
  }
  assert.deepEqual(requests, []);
});

test('HOOK-03: a name with one private address among public ones is refused', async () => {
  const fetch = fetchWith({ findAddresses: async () => ['8.8.8.8', '10.0.0.1'] });
  await assert.rejects(fetch('http://receiver.example/'), { code: 'FETCH_TARGET_FORBIDDEN' });
});

test('HOOK-03, DNS rebinding: the address that was checked is the one connected to', async (t) => {
  const { port, requests } = await start(t, (_, response) => response.end());
  let lookups = 0;
  // Allowed when asked first, forbidden from then on: the attack that a check apart from the connection falls
  // for.
  const rebinding = async () => (++lookups === 1 ? ['127.0.0.1'] : ['127.0.0.2']);
  const fetch = fetchWith({ findAddresses: rebinding, allowedHosts: ['127.0.0.1'] });
  assert.equal((await fetch(`http://receiver.example:${port}/`)).status, 200);
  assert.deepEqual([lookups, requests.length], [1, 1]);
  await assert.rejects(fetch(`http://receiver.example:${port}/`), { code: 'FETCH_TARGET_FORBIDDEN' });
  assert.equal(requests.length, 1);
});

test('HOOK-03: an operator can allow hosts by name or address', async (t) => {
  const { port, requests } = await start(t, (_, response) => response.end());
  const byName = fetchWith({ findAddresses: loopback, allowedHosts: ['receiver.example'] });
  assert.equal((await byName(`http://Receiver.example.:${port}/a`)).status, 200);
  await assert.rejects(byName(`http://other.example:${port}/`), { code: 'FETCH_TARGET_FORBIDDEN' });
  await assert.rejects(byName(`http://127.0.0.1:${port}/`), { code: 'FETCH_TARGET_FORBIDDEN' });
  const byAddress = fetchWith({ findAddresses: loopback, allowedHosts: ['127.0.0.1'] });
  assert.equal((await byAddress(`http://127.0.0.1:${port}/b`)).status, 200);
  assert.equal((await byAddress(`http://other.example:${port}/c`)).status, 200);
  await assert.rejects(byAddress(`http://127.0.0.2:${port}/`), { code: 'FETCH_TARGET_FORBIDDEN' });
  assert.deepEqual(requests, ['GET /a', 'GET /b', 'GET /c']);
});

test('redirects are returned as they are; followed, each target is checked', async (t) => {
  const { port, requests } = await start(t, (request, response) => {
    const target = new URL(request.url ?? '', 'http://x').searchParams.get('to');
    if (target === null) response.end('here');
    else response.writeHead(302, { location: target }).end();
  });
  const to = (target: string) => `http://receiver.example:${port}/?to=${encodeURIComponent(target)}`;
  const strict = fetchWith({ allowPrivate: true, findAddresses: loopback });
  assert.deepEqual([(await strict(to('/x'))).status, requests.length], [302, 1]);

  const following = fetchWith({
    allowedHosts: ['receiver.example'],
    findAddresses: loopback,
    maxRedirects: 2,
  });
  assert.equal(Buffer.from((await following(to('/x'))).body).toString(), 'here');
  assert.equal((await following(to('/x'), { method: 'POST', body: '' })).status, 302);
  await assert.rejects(following(to(`http://127.0.0.1:${port}/`)), { code: 'FETCH_TARGET_FORBIDDEN' });
  await assert.rejects(following(to(`http://inside.example:${port}/`)), { code: 'FETCH_TARGET_FORBIDDEN' });
  await assert.rejects(following(to('file:///etc/passwd')), { code: 'FETCH_REQUEST_INVALID' });
  const loop = to('/x').replace('/?', '/?');
  await assert.rejects(following(to(to(to(loop)))), { code: 'FETCH_REDIRECT_REFUSED' });
});

test('schemes, credentials, nonsense and header injection are refused', async () => {
  const fetch = fetchWith({ allowPrivate: true });
  for (const url of [
    'ftp://a.org/',
    'file:///etc/passwd',
    'data:,x',
    'http://user:secret@a.org/',
    'https://user@a.org/',
    'nonsense',
    '',
    'http://',
  ]) {
    await assert.rejects(fetch(url), { code: 'FETCH_REQUEST_INVALID' }, url);
  }
  await assert.rejects(fetch('http://127.0.0.1:1/', { headers: { 'x-a': 'b\r\nx-c: d' } }), {
    code: 'FETCH_REQUEST_INVALID',
  });
});

test('no message or field of an error repeats the path, query or credentials of a URL', async () => {
  const fetch = fetchWith({});
  const error = await fetch('http://user:secret@127.0.0.1/private?token=secret').catch(
    (reason: Error) => reason,
  );
  const other = await fetch('http://127.0.0.1/private?token=secret').catch((reason: Error) => reason);
  for (const one of [error, other])
    assert.doesNotMatch(JSON.stringify(one) + errorText(one), /secret|private\?/);
});

test('SEC-11: bytes are limited, announced, streamed or endless; and for one call alone', async (t) => {
  const { port } = await start(t, (request, response) => {
    if (request.url === '/announced') response.setHeader('content-length', 1_000_000);
    if (request.url === '/small') return void response.end('x'.repeat(100));
    const timer = setInterval(() => response.write('x'.repeat(5_000)), 1);
    response.on('close', () => clearInterval(timer));
  });
  const fetch = fetchWith({ allowPrivate: true });
  for (const path of ['announced', 'endless']) {
    await assert.rejects(fetch(`http://127.0.0.1:${port}/${path}`), { code: 'FETCH_TOO_LARGE' });
  }
  await assert.rejects(fetch(`http://127.0.0.1:${port}/small`, { maxBytes: 99 }), {
    code: 'FETCH_TOO_LARGE',
  });
  assert.equal((await fetch(`http://127.0.0.1:${port}/small`, { maxBytes: 100 })).body.length, 100);
});

test('SEC-11: time is limited for everything: look-up, silence, and a body in drops', async (t) => {
  let asked = Promise.withResolvers<void>();
  const { port } = await start(t, (request, response) => {
    if (request.url === '/silent') return asked.resolve();
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
  });
  const fetch = fetchWith({ allowPrivate: true, timeoutMs: 200, findAddresses: () => new Promise(() => {}) });
  for (const url of [
    `http://127.0.0.1:${port}/silent`,
    `http://127.0.0.1:${port}/drops`,
    'http://slow.example/',
  ]) {
    await assert.rejects(fetch(url), { code: 'FETCH_TIMEOUT', isTransient: true }, url);
  }
  await assert.rejects(
    fetchWith({ allowPrivate: true })(`http://127.0.0.1:${port}/silent`, { timeoutMs: 100 }),
    { code: 'FETCH_TIMEOUT' },
  );
  const abort = new AbortController();
  asked = Promise.withResolvers<void>();
  void asked.promise.then(() => abort.abort());
  await assert.rejects(
    fetchWith({ allowPrivate: true })(`http://127.0.0.1:${port}/silent`, { signal: abort.signal }),
    { code: 'FETCH_FAILED' },
  );
});

test('where the status is what matters, a body that is too large, never ends or breaks off is cut', async (t) => {
  const { port } = await start(t, (request, response) => {
    if (request.url === '/silent') return;
    response.statusCode = 202;
    response.write('begin'.padEnd(100, '.'));
    if (request.url === '/large') response.end('x'.repeat(1_000_000));
    if (request.url === '/broken') setTimeout(() => response.destroy(), 50);
  });
  const fetch = fetchWith({ allowPrivate: true, timeoutMs: 300, takesPart: true });
  for (const [path, length] of [
    ['large', 10_000],
    ['endless', 100],
    ['broken', 100],
  ] as const) {
    const { status, body } = await fetch(`http://127.0.0.1:${port}/${path}`, { method: 'POST', body: '{}' });
    assert.deepEqual([path, status, body.length], [path, 202, length]);
    assert.equal(Buffer.from(body.subarray(0, 5)).toString(), 'begin');
  }
  await assert.rejects(fetch(`http://127.0.0.1:${port}/silent`), { code: 'FETCH_TIMEOUT' });
});

test('hosts without address and ports without listener are transient failures', async () => {
  const fetch = fetchWith({ allowPrivate: true, findAddresses: async () => [] });
  await assert.rejects(fetch('http://nobody.example/'), { code: 'FETCH_HOST_UNKNOWN', isTransient: true });
  const failing = fetchWith({ findAddresses: () => Promise.reject(new Error('SERVFAIL')) });
  await assert.rejects(failing('http://nobody.example/'), { code: 'FETCH_HOST_UNKNOWN' });
  await assert.rejects(fetch('http://127.0.0.1:1/'), {
    code: 'FETCH_FAILED',
    message: 'The exchange failed: the connection was refused (ECONNREFUSED)',
    isTransient: true,
  });
});

test('TLS: the certificate is checked against the name in the URL', async (t) => {
  const pem = makeTlsCertificate('receiver.example');
  const { port } = await start(
    t,
    (_, response) => response.end('secret'),
    createTlsServer({ key: pem, cert: pem }),
  );
  const options = { allowPrivate: true, findAddresses: loopback };
  assert.equal(
    (await fetchWith({ ...options, tlsCa: pem })(`https://receiver.example:${port}/`)).status,
    200,
  );
  await assert.rejects(fetchWith({ ...options, tlsCa: pem })(`https://other.example:${port}/`), {
    code: 'FETCH_FAILED',
    message: /: the TLS certificate names another host \(ERR_TLS_CERT_ALTNAME_INVALID\)$/,
  });
  await assert.rejects(fetchWith(options)(`https://receiver.example:${port}/`), {
    code: 'FETCH_FAILED',
    message: /: the TLS certificate leads to no known authority \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
  });
  await assert.rejects(fetchWith(options)(`http://receiver.example:${port}/`), {
    code: 'FETCH_FAILED',
    message: /: the connection ended too early \(/,
  });
});

test('a guard can be asked before a URL is stored', async () => {
  const guard = createTargetGuard({
    findAddresses: async (host) => (host === 'inside.example' ? ['10.0.0.1'] : ['8.8.8.8']),
  });
  assert.equal(guard.parse('https://receiver.example/x').hostname, 'receiver.example');
  assert.throws(() => guard.parse('https://10.0.0.1/'), { code: 'FETCH_TARGET_FORBIDDEN' });
  await assert.rejects(guard.findTargets('inside.example'), { code: 'FETCH_TARGET_FORBIDDEN' });
  assert.deepEqual(await guard.findTargets('receiver.example'), ['8.8.8.8']);
});

const kept = { maxConnections: 10, idleMs: 10_000, maxAgeMs: 60_000 };

/** A fetch that keeps connections, and how many connections the server has seen. */
async function startKeeping(
  t: TestContext,
  listener: RequestListener,
  more: Partial<GuardedFetchOptions & KeptConnections> = {},
): Promise<{ post: (path?: string) => Promise<number>; server: Server; seen: () => number; port: number }> {
  const server = createServer({ keepAliveTimeout: 60_000 });
  let connections = 0;
  server.on('connection', () => void connections++);
  const { port } = await start(t, listener, server);
  const keeping = createKeepingFetch(
    { timeoutMs: 2000, maxBytes: 10_000, allowPrivate: true, ...more },
    { ...kept, ...more },
  );
  t.after(() => keeping.close());
  return {
    post: async (path = '/') => {
      const { status } = await keeping.fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        body: '{}',
      });
      return status;
    },
    server,
    seen: () => connections,
    port,
  };
}

test('requests to one target share a kept connection; one that is too large or too slow harms no later one', async (t) => {
  const { post, seen } = await startKeeping(t, (request, response) => {
    if (request.url === '/silent') return;
    response.end(request.url === '/large' ? 'x'.repeat(20_000) : 'ok');
  });
  for (let done = 0; done < 20; done++) assert.equal(await post(), 200);
  // The next request may begin in the turn in which the last one ends, before its connection is free.
  assert.ok(seen() <= 2, String(seen()));
  await assert.rejects(post('/large'), { code: 'FETCH_TOO_LARGE' });
  assert.equal(await post(), 200);
  await assert.rejects(post('/silent'), { code: 'FETCH_TIMEOUT' });
  assert.equal(await post(), 200);
});

test('beyond the limit of kept connections each request has one that is closed after it', async (t) => {
  const waiting: (() => void)[] = [];
  const { post, server } = await startKeeping(t, (_, response) => void waiting.push(() => response.end()), {
    maxConnections: 2,
  });
  const posts = Array.from({ length: 6 }, () => post());
  while (waiting.length < 6) await new Promise((resolve) => setTimeout(resolve, 5));
  const keptBefore = await countConnections(server);
  for (const answer of waiting.splice(0)) answer();
  assert.deepEqual(new Set(await Promise.all(posts)), new Set([200]));
  assert.equal(keptBefore, 6);
  // Requests that begin at the same moment may pass the limit together; what is begun later does not.
  const next = Array.from({ length: 12 }, () => post());
  while (waiting.length < 12) await new Promise((resolve) => setTimeout(resolve, 5));
  for (const answer of waiting.splice(0)) answer();
  await Promise.all(next);
  while ((await countConnections(server)) > 6) await new Promise((resolve) => setTimeout(resolve, 5));
});

test('a kept connection is closed when it is unused for its time', async (t) => {
  const { post, server } = await startKeeping(t, (_, response) => response.end(), { idleMs: 1100 });
  assert.equal(await post(), 200);
  assert.equal(await countConnections(server), 1);
  while ((await countConnections(server)) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
});

test('HOOK-03: with kept connections, too, every new connection is checked, and redirects are not followed', async (t) => {
  let address = '127.0.0.1';
  const { server, port, seen } = await startKeeping(t, (request, response) => {
    if (request.url === '/away') response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
    else response.end();
  });
  const keeping = createKeepingFetch(
    { timeoutMs: 2000, maxBytes: 10_000, allowedHosts: ['127.0.0.1'], findAddresses: async () => [address] },
    kept,
  );
  t.after(() => keeping.close());
  const url = `http://receiver.example:${port}/`;
  assert.equal((await keeping.fetch(url)).status, 200);
  assert.equal((await keeping.fetch(`${url}away`, { method: 'POST' })).status, 302);
  assert.ok(seen() <= 2, String(seen()));
  address = '127.0.0.2';
  server.closeAllConnections();
  while ((await countConnections(server)) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await assert.rejects(keeping.fetch(url), { code: 'FETCH_TARGET_FORBIDDEN' });
  await assert.rejects(keeping.fetch(`http://127.0.0.2:${port}/`), { code: 'FETCH_TARGET_FORBIDDEN' });
});

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );
}
