import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
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
