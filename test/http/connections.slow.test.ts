/** Connections that ask for nothing keep nobody out. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { startHispChild } from '../admission/start-hisp-child.ts';

async function open(t: { after(end: () => void): void }, port: number, host: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${host}` });
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

test('half requests of a few hosts close the API for nobody, and are counted', async (t) => {
  const child = await startHispChild(1, [
    'OPENHISP_HTTP_MAX_CONNECTIONS=40',
    'OPENHISP_HTTP_MAX_CONNECTIONS_PER_ADDRESS=20',
  ]);
  t.after(() => child.stop());
  const port = Number(new URL(child.baseUrl).port);
  const halves = await Promise.all(Array.from({ length: 60 }, (_, n) => open(t, port, 2 + (n % 2))));
  for (const socket of halves) socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\nX-Half: ');
  // An idle connection of less than two seconds is not closed.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  for (let count = 0; count < 10; count++) {
    const { status } = await fetch(`${child.baseUrl}/health/live`, { headers: { connection: 'close' } });
    assert.equal(status, 200);
  }
  assert.ok(halves.filter(({ destroyed }) => destroyed).length >= 20);
  const text = await (await fetch(`${child.baseUrl}/metrics`)).text();
  assert.match(text, /openhisp_http_connections_closed_total\{reason="address"\} [1-9]/);
  assert.match(text, /openhisp_http_connections_closed_total\{reason="idle"\} [1-9]/);
});
