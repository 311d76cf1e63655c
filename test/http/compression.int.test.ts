import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { HispFastify } from '../../src/app/http/index.ts';
import { startOauthServer } from '../conformance/oauth-server.ts';

const large = { providers: Array.from({ length: 1000 }, (_, id) => ({ id, name: `Provider ${id}` })) };

function exampleRoutes(app: HispFastify): void {
  app.get('/large', async () => large);
  app.get('/bytes', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(Buffer.from(JSON.stringify(large))),
  );
  app.get('/small', async () => ({ status: 'OK' }));
  app.get('/package', async (_request, reply) =>
    reply.type('application/zip').send(Buffer.alloc(100_000, 'x')),
  );
}

const server = await startOauthServer({ routes: [exampleRoutes] });

async function ask(path: string, acceptEncoding?: string, method = 'GET') {
  const headers = acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding };
  const asked = request(server.url + path, { method, headers }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const bytes = await buffer(answer);
  return { headers: answer.headers, bytes };
}

test('a client that asks for gzip gets a large answer compressed, with its length', async () => {
  for (const path of ['/large', '/bytes'])
    for (const accepted of [
      'gzip',
      'gzip, deflate, br',
      'br;q=1, gzip;q=0.5',
      'GZIP',
      'br;Q=1, GZip;Q=0.5',
    ]) {
      const { headers, bytes } = await ask(path, accepted);
      assert.equal(headers['content-encoding'], 'gzip', accepted);
      assert.equal(headers['vary'], 'Accept-Encoding');
      assert.equal(Number(headers['content-length']), bytes.length);
      assert.ok(bytes.length < JSON.stringify(large).length / 4);
      assert.deepEqual(JSON.parse(gunzipSync(bytes).toString()), large);
    }
});

test('a client that does not ask for it, or refuses it, gets the bytes as they are', async () => {
  for (const accepted of [undefined, 'identity', 'br', 'gzip;q=0']) {
    const { headers, bytes } = await ask('/large', accepted);
    assert.equal(headers['content-encoding'], undefined, accepted);
    assert.equal(headers['vary'], 'Accept-Encoding', 'a cache must not give it to others');
    assert.deepEqual(JSON.parse(bytes.toString()), large);
  }
});

test('small answers, packages and answers without a body are not compressed', async () => {
  for (const [path, method] of [
    ['/small', 'GET'],
    ['/package', 'GET'],
    ['/large', 'HEAD'],
  ] as const)
    assert.equal((await ask(path, 'gzip', method)).headers['content-encoding'], undefined, path);
});
