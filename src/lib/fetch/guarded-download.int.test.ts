import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createGuardedDownload, type GuardedDownloadOptions } from './guarded-download.ts';
import { createDeadline } from '../../../test/support/time-scale.ts';

async function start(
  t: TestContext,
  listener: RequestListener,
): Promise<{ port: number; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, requests };
}

const downloadWith = (more: Partial<GuardedDownloadOptions> = {}) =>
  createGuardedDownload({
    timeoutMs: 2000,
    idleMs: 300,
    maxRedirects: 2,
    redirectHosts: [],
    allowPrivate: true,
    allowsPlainHttp: true,
    ...more,
  });

async function read(body: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0;
  for await (const piece of body) length += piece.length;
  return length;
}

const redirect = (response: ServerResponse, location: string): void =>
  void response.writeHead(302, { location }).end('moved');

test('the body comes in pieces, as it was sent, with the headers that were asked for', async (t) => {
  const { port, requests } = await start(t, (_request, response) => {
    response.writeHead(206, { etag: '"1"' });
    response.end(Buffer.alloc(5_000_000));
  });
  const { status, headers, body } = await downloadWith()(`http://127.0.0.1:${port}/file`, {
    headers: { range: 'bytes=5-' },
  });
  assert.deepEqual([status, headers['etag']], [206, '"1"']);
  assert.equal(await read(body), 5_000_000);
  assert.equal(requests[0]?.headers['range'], 'bytes=5-');
  assert.equal(requests[0]?.headers['accept-encoding'], 'identity');
});

test('a redirect leads to named hosts only, and not too often', async (t) => {
  const { port, requests } = await start(t, (request, response) => {
    if (request.url === '/same') redirect(response, '/file');
    else if (request.url === '/named') redirect(response, `http://localhost:${port}/file`);
    else if (request.url === '/loop') redirect(response, '/loop');
    else if (request.url === '/back') redirect(response, `http://localhost:${port}/named`);
    else response.end('file');
  });
  const url = (path: string): string => `http://127.0.0.1:${port}/${path}`;
  assert.equal(await read((await downloadWith()(url('same'))).body), 4);
  const before = requests.length;
  await assert.rejects(downloadWith()(url('named')), {
    code: 'FETCH_REDIRECT_REFUSED',
    message: /localhost/,
  });
  assert.equal(requests.length, before + 1, 'the redirect target is not contacted');
  const allowed = downloadWith({ redirectHosts: ['localhost'] });
  assert.equal(await read((await allowed(url('named'))).body), 4);
  assert.equal(await read((await allowed(url('back'))).body), 4);
  await assert.rejects(allowed(url('loop')), { code: 'FETCH_REDIRECT_REFUSED', message: /too many/ });
});

test('private addresses and plain HTTP are refused unless allowed, also behind a redirect', async (t) => {
  const { port } = await start(t, (_request, response) => response.end());
  const url = `http://127.0.0.1:${port}/`;
  await assert.rejects(downloadWith({ allowPrivate: false })(url), { code: 'FETCH_TARGET_FORBIDDEN' });
  await assert.rejects(downloadWith({ allowsPlainHttp: false })(url), { code: 'FETCH_REQUEST_INVALID' });
  await assert.rejects(downloadWith()('file:///etc/passwd'), { code: 'FETCH_REQUEST_INVALID' });
  const { port: outer } = await start(t, (_request, response) =>
    redirect(response, `http://10.0.0.1:${port}/`),
  );
  const findAddresses = async (): Promise<string[]> => ['127.0.0.1'];
  const guarded = downloadWith({
    allowPrivate: false,
    allowedHosts: ['outer.example'],
    findAddresses,
    redirectHosts: ['10.0.0.1', 'inner.example'],
  });
  await assert.rejects(guarded(`http://outer.example:${outer}/`), { code: 'FETCH_TARGET_FORBIDDEN' });
});

test('a server that falls silent, breaks off or is gone has its own error, and leaving closes the connection', async (t) => {
  const closed: string[] = [];
  const { port } = await start(t, (request, response) => {
    response.on('close', () => closed.push(request.url ?? ''));
    if (request.url === '/mute') return;
    response.writeHead(200, { 'content-length': '1000000' });
    response.write('some');
    if (request.url === '/broken') setTimeout(() => response.destroy(), 20);
  });
  const url = (path: string): string => `http://127.0.0.1:${port}/${path}`;
  const readFrom = async (path: string): Promise<number> =>
    read((await downloadWith({ timeoutMs: 300 })(url(path))).body);
  await assert.rejects(readFrom('mute'), { code: 'FETCH_TIMEOUT' });
  await assert.rejects(readFrom('silent'), { code: 'FETCH_TIMEOUT' });
  await assert.rejects(readFrom('broken'), { code: 'FETCH_FAILED' });
  const aborting = new AbortController();
  const aborted = await downloadWith({ idleMs: 60_000 })(url('aborted'), { signal: aborting.signal });
  setTimeout(() => aborting.abort(), 20);
  await assert.rejects(read(aborted.body), { code: 'FETCH_TIMEOUT' });
  const left = await downloadWith({ idleMs: 60_000 })(url('left'));
  for await (const _ of left.body) break;
  (await downloadWith({ idleMs: 60_000 })(url('cancelled'))).cancel();
  const deadline = createDeadline(5000);
  while (closed.length < 6 && !deadline.isOver()) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(closed.toSorted(), ['/aborted', '/broken', '/cancelled', '/left', '/mute', '/silent']);
  await assert.rejects(downloadWith({ timeoutMs: 500 })('http://127.0.0.1:9/'), { code: 'FETCH_FAILED' });
});

test('a file that comes in a content coding, which changes its octets, is refused', async (t) => {
  const { port } = await start(t, (request, response) => {
    response.setHeader('content-encoding', request.url === '/gzip' ? 'gzip' : 'identity');
    response.end('file');
  });
  const download = downloadWith();
  await assert.rejects(download(`http://127.0.0.1:${port}/gzip`), { code: 'FETCH_CODING_UNSUPPORTED' });
  assert.equal(await read((await download(`http://127.0.0.1:${port}/plain`)).body), 4);
});
