import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createPkiFetch } from './pki-fetch.ts';

async function startMoved(t: TestContext): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    if (url === '/here.p7b') response.end('bundle');
    else response.writeHead(301, { location: locations.get(url) ?? url }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const locations = new Map([
    ['/moved.p7b', '/here.p7b'],
    ['/private.p7b', `${base}/here.p7b`],
  ]);
  return base;
}

test('BUNDLE-05, TRUST-05, TRUST-06: a file that has moved is fetched from where it is now', async (t) => {
  const base = await startMoved(t);
  const fetch = createPkiFetch({ allowPrivate: true });
  const { status, body } = await fetch(`${base}/moved.p7b`);
  assert.deepEqual([status, Buffer.from(body).toString()], [200, 'bundle']);
  await assert.rejects(fetch(`${base}/round`), { code: 'FETCH_REDIRECT_REFUSED' });
});

test('SEC-11: a redirect to a private address is refused', async (t) => {
  const base = await startMoved(t);
  const fetch = createPkiFetch({ allowedHosts: ['moved.example'], findAddresses: async () => ['127.0.0.1'] });
  const moved = `http://moved.example:${new URL(base).port}`;
  assert.equal((await fetch(`${moved}/moved.p7b`)).status, 200);
  await assert.rejects(fetch(`${moved}/private.p7b`), { code: 'FETCH_TARGET_FORBIDDEN' });
});
