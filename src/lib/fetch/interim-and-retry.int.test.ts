import assert from 'node:assert/strict';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import { createGuardedDownload } from './guarded-download.ts';
import { createGuardedFetch, createKeepingFetch, type GuardedFetch } from './guarded-fetch.ts';
import { followRetryAfter, readRetryAfter } from './retry-after.ts';

/** A server that answers each request with these pieces, each written by itself. */
async function serve(
  t: TestContext,
  pieces: readonly string[],
): Promise<{ url: string; requests: () => number }> {
  let requests = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      if (!/^(?:GET|POST) /.test(chunk.toString('latin1'))) return;
      requests++;
      void (async () => {
        for (const piece of pieces) {
          socket.write(piece);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      })();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, requests: () => requests };
}

const final = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const go = 'HTTP/1.1 100 Continue\r\n\r\n';
const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n';
const interim: readonly (readonly [name: string, pieces: readonly string[]])[] = [
  ['100', [go, final]],
  ['100 and the answer together', [go + final]],
  ['100 twice', [go, go, final]],
  ['100 with fields', [`${go.slice(0, -2)}X-A: b\r\n\r\n`, final]],
  ['100 without a reason', ['HTTP/1.1 100\r\n\r\n', final]],
  ['100 of HTTP/1.0', ['HTTP/1.0 100 Continue\r\n\r\n', final]],
  ['100 cut within its line', [go.slice(0, 3), go.slice(3, 11), go.slice(11), final]],
  ['100 cut within its end', [go.slice(0, -1), go.slice(-1) + final]],
  ['100 octet by octet', [...go, final]],
  ['100, and the answer octet by octet', [go, ...final]],
  ['101', ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', final]],
  ['102', ['HTTP/1.1 102 Processing\r\n\r\n', final]],
  ['102 five times', [...Array.from({ length: 5 }, () => 'HTTP/1.1 102 Processing\r\n\r\n'), final]],
  ['103', [hints, final]],
  ['100, 102 and 103', [go, 'HTTP/1.1 102 Processing\r\n\r\n', hints + final]],
  ['199', ['HTTP/1.1 199 Unknown\r\n\r\n', final]],
  ['none', [final]],
  ['a body that looks like one', ['HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n', `${go}ok`]],
  [
    'a chunked body that looks like one',
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', `1b\r\n${go}ok\r\n`, '0\r\n\r\n'],
  ],
  ['a body up to the end', [`${go}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHT`, 'TP/']],
];

for (const [name, pieces] of interim) {
  test(`RFC 9110 §15.2: an interim response that nobody asked for is skipped: ${name}`, async (t) => {
    const { url, requests } = await serve(t, pieces);
    const options = { timeoutMs: 3000, maxBytes: 1000, allowPrivate: true };
    const keeping = createKeepingFetch(options, { maxConnections: 4, idleMs: 2000, maxAgeMs: 9000 });
    t.after(() => keeping.close());
    const post = { method: 'POST', body: 'x' } as const;
    for (const fetch of [createGuardedFetch(options), keeping.fetch])
      for (const init of [{}, post, post]) {
        const { status, body } = await fetch(url, init);
        assert.equal(status, 200);
        assert.ok(['ok', `${go}ok`, 'HTTP/'].includes(Buffer.from(body).toString()));
      }
    const download = createGuardedDownload({
      ...options,
      idleMs: 1000,
      maxRedirects: 0,
      redirectHosts: [],
      allowsPlainHttp: true,
    });
    const { status, body } = await download(url);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    assert.deepEqual([status, requests()], [200, 7]);
    assert.ok(Buffer.concat(chunks).length > 0);
  });
}

test('a server of interim responses only is bounded by time and bytes', async (t) => {
  const { url } = await serve(
    t,
    Array.from({ length: 100 }, () => `HTTP/1.1 102 Processing\r\nX: ${'x'.repeat(2000)}\r\n\r\n`),
  );
  const fetch = createGuardedFetch({ timeoutMs: 1000, maxBytes: 1000, allowPrivate: true });
  await assert.rejects(fetch(url), (error: { code?: string }) => error.code?.startsWith('FETCH_') === true);
});

test('a POST is never repeated, a GET on a lost kept connection once', async (t) => {
  let requests = 0;
  let isLost = false;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      requests++;
      if (isLost) socket.destroy();
      else socket.write(final);
      isLost = false;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { fetch, close } = createKeepingFetch(
    { timeoutMs: 3000, maxBytes: 1000, allowPrivate: true },
    { maxConnections: 4, idleMs: 5000, maxAgeMs: 9000 },
  );
  t.after(async () => {
    await close();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await fetch(url);
  isLost = true;
  assert.equal((await fetch(url)).status, 200);
  assert.equal(requests, 3);
  await fetch(url);
  isLost = true;
  await assert.rejects(fetch(url, { method: 'POST', body: 'x' }), { code: 'FETCH_FAILED' });
  assert.equal(requests, 5);
});

const now = new Date('2026-11-27T12:00:00Z');
const waits: readonly (readonly [value: string, seconds: number | undefined, date?: string])[] = [
  ['120', 120],
  [' 120 ', 120],
  ['0', undefined],
  ['1', 1],
  ['1.5', 1.5],
  ['3600', 3600],
  ['3601', 3600],
  ['86400', 3600],
  ['999999999999', 3600],
  ['-5', undefined],
  ['', undefined],
  ['soon', undefined],
  ['120 seconds', undefined],
  ['120, 240', undefined],
  ['0x10', undefined],
  ['1e3', undefined],
  ['Fri, 27 Nov 2026 12:02:00 GMT', 120],
  ['Friday, 27-Nov-26 12:02:00 GMT', 120],
  ['Fri Nov 27 12:02:00 2026', 120],
  ['Fri, 27 Nov 2026 11:59:00 GMT', undefined],
  ['Sat, 28 Nov 2026 12:00:00 GMT', 3600],
  ['2026-11-27T12:02:00Z', undefined],
  ['27/11/2026', undefined],
  ['Fri, 32 Nov 2026 12:02:00 GMT', undefined],
  ['Fri, 27 Nov 2026 10:02:00 GMT', 120, 'Fri, 27 Nov 2026 10:00:00 GMT'],
  ['Fri, 27 Nov 2026 12:02:00 GMT', 120, 'nonsense'],
];
for (const [value, seconds, date] of waits) {
  test(`RFC 9110 §10.2.3: Retry-After “${value}”${date === undefined ? '' : ` at ${date}`}`, () => {
    const headers = { 'retry-after': value, ...(date === undefined ? {} : { date }) };
    assert.equal(readRetryAfter(headers, now), seconds === undefined ? undefined : seconds * 1000);
  });
}

test('a URL is not called before the time that its server asked for, and others are', async () => {
  const clock = createManualClock(now);
  const calls: string[] = [];
  let status = 503;
  const server: GuardedFetch = async (url) => {
    calls.push(url);
    return { status, headers: { 'retry-after': '120' }, body: Buffer.from('x') };
  };
  const fetch = followRetryAfter(server, clock);
  assert.equal((await fetch('a')).status, 503);
  clock.advance(119_000);
  assert.deepEqual([(await fetch('a')).status, (await fetch('b')).status, calls], [503, 503, ['a', 'b']]);
  clock.advance(1000);
  status = 200;
  assert.deepEqual([(await fetch('a')).status, (await fetch('a')).status, calls.length], [200, 200, 4]);
  status = 404;
  await fetch('c');
  await fetch('c');
  assert.equal(calls.length, 6);
});
