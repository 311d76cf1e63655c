import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import type { HispFastify } from '../../src/app/http/index.ts';
import { startOauthServer } from '../conformance/oauth-server.ts';

const entered = Promise.withResolvers<void>();
const leave = Promise.withResolvers<void>();

function exampleRoutes(app: HispFastify): void {
  app.get('/slow', async () => {
    entered.resolve();
    await leave.promise;
    return { done: true };
  });
}

const agent = new Agent({ keepAlive: true });
after(() => agent.destroy());

async function read(asked: ClientRequest): Promise<number | undefined> {
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode;
}

// Connections are kept alive for more than a minute; the limit shows whether closing waits for that.
const timeout = 20_000;

test('closing lets a running request finish and does not wait for its connection', { timeout }, async () => {
  const server = await startOauthServer({ routes: [exampleRoutes] });
  const asked = request(`${server.url}/slow`, { agent }).end();
  await entered.promise;
  const closed = server.app.close();
  leave.resolve();
  assert.equal(await read(asked), 200);
  await closed;
});

test(
  'a request on a connection that is in use is refused while closing, in the form of its API',
  { timeout },
  async () => {
    const open = Promise.withResolvers<void>();
    const held = (app: HispFastify): void => {
      app.get('/held', async () => {
        await open.promise;
        return {};
      });
    };
    const server = await startOauthServer({ routes: [held] });
    const { hostname, port } = new URL(server.url);
    const ask = async (socket: Socket, line: string): Promise<void> => {
      const arrived = once(server.app.server, 'request');
      socket.write(`${line} HTTP/1.1\r\nHost: x\r\nX-Request-Id: late\r\nContent-Length: 0\r\n\r\n`);
      await arrived;
    };
    const sockets = [connect(Number(port), hostname), connect(Number(port), hostname)] as const;
    for (const socket of sockets) await ask(socket, 'GET /held');
    const closed = server.app.close();
    await new Promise(setImmediate);
    await ask(sockets[0], 'GET /openapi.json');
    await ask(sockets[1], 'POST /oauth2/direct/v1/token');
    open.resolve();
    const [resource = '', token = ''] = await Promise.all(
      sockets.map(async (socket) => {
        const received = await text(socket);
        return received.slice(received.lastIndexOf('HTTP/1.1 '));
      }),
    );
    await closed;
    for (const answer of [resource, token]) {
      assert.match(answer, /^HTTP\/1\.1 503 /);
      assert.match(answer, /^retry-after: 5\r$/im);
      assert.match(answer, /^x-request-id: late\r$/im);
      assert.match(answer, /^connection: close\r$/im);
    }
    const bodyOf = (answer: string) =>
      JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as Record<string, unknown>;
    assert.deepEqual(bodyOf(resource)['errors'], [
      { field: '', reason: 'http_closing', detail: 'The service is closing; repeat the request.' },
    ]);
    assert.equal(bodyOf(token)['error'], 'temporarily_unavailable');
  },
);

test('a client that does not end its request holds up closing only for a while', { timeout }, async () => {
  const server = await startOauthServer({ closeGraceMs: 300 });
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write('POST /oauth2/direct/v1/token HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\ngrant');
  await once(server.app.server, 'request');
  const ended = once(socket, 'close');
  await server.app.close();
  await ended;
});
