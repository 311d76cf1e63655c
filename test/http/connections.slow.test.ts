/** Connections that ask for nothing keep nobody out. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { startHispChild } from '../admission/start-hisp-child.ts';
import { freePort, waitUntil } from '../support/processes.ts';

async function open(t: { after(end: () => void): void }, port: number, host: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${host}` });
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

interface Listener {
  readonly port: number;
  /** More than it takes of one address. */
  readonly count: number;
  readonly half: string;
}

test('half requests of a few hosts close no listener for others, and are counted', async (t) => {
  const metricsPort = await freePort();
  const child = await startHispChild(1, [
    'OPENHISP_HTTP_MAX_CONNECTIONS=40',
    'OPENHISP_HTTP_MAX_CONNECTIONS_PER_ADDRESS=20',
    `OPENHISP_HTTP_METRICS_PORT=${metricsPort}`,
    'OPENHISP_SMTP_MAX_CONNECTIONS=40',
    'OPENHISP_SMTP_MAX_CONNECTIONS_PER_ADDRESS=20',
    'OPENHISP_SMTP_MAX_CONNECTIONS_PER_NETWORK=100',
  ]);
  t.after(() => child.stop());
  const half = 'GET /health/live HTTP/1.1\r\nHost: x\r\nX-Half: ';
  const listeners: Readonly<Record<string, Listener>> = {
    api: { port: Number(new URL(child.baseUrl).port), count: 30, half },
    console: { port: Number(new URL(child.consoleUrl).port), count: 210, half },
    metrics: { port: metricsPort, count: 30, half },
    smtp: { port: child.smtpPort, count: 30, half: 'EHL' },
  };
  for (const [name, { port, count, half: text }] of Object.entries(listeners)) {
    const halves = await Promise.all(
      Array.from({ length: count * 3 }, (_, n) => open(t, port, 2 + Math.floor(n / count))),
    );
    for (const socket of halves) socket.write(text);
    // An idle connection of less than two seconds is not closed.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    for (let asked = 0; asked < 5; asked++) await isAnswered(port, name);
    for (const socket of halves) socket.destroy();
  }
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  for (const name of Object.keys(listeners))
    for (const reason of ['address', 'idle'])
      assert.match(
        text,
        new RegExp(`openhisp_connections_closed_total\\{listener="${name}",reason="${reason}"\\} [1-9]`),
      );
});

/** Of another host than the half requests. */
async function isAnswered(port: number, name: string): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  if (name !== 'smtp') socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  await waitUntil(() => /^(HTTP\/1\.1 |220 )/.test(received), {
    timeoutMs: 10_000,
    what: `${name} to answer`,
  });
  socket.destroy();
}
