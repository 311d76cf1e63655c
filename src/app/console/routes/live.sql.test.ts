import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { after, before, describe, it, mock } from 'node:test';
import fastify from 'fastify';
import { startTestConsole, type TestConsole } from '../../../../test/console/start-console.ts';
import { silentLog, systemClock } from '../../../core/index.ts';
import { everything } from '../../../service/organizations/index.ts';
import type { LoadEvent } from '../contract/index.ts';
import type { ConsoleApp, ConsoleServices } from '../types.ts';
import { createLive, type Live } from './live.ts';

const maxUnsentBytes = 256 * 1024;
/** Bytes that the network of this machine may hold for a reader that does not read. */
const maxNetworkBytes = 64 * 1024 * 1024;

describe('the stream of live events of a browser that does not read', () => {
  let console_: TestConsole;
  let app: ConsoleApp;
  let live: Live;
  const responses = new Map<string, ServerResponse>();

  before(async () => {
    console_ = await startTestConsole();
    const { audit, storage } = console_.hisp;
    const made = createLive({ audit, storage, clock: systemClock, log: silentLog } as ConsoleServices);
    live = made.live;
    app = fastify() as unknown as ConsoleApp;
    app.decorateRequest('operator', { getter: () => ({ actor: 'operator:reader' }) as never });
    app.decorateRequest('owned', { getter: () => everything });
    app.addHook('onRequest', async (request, reply) => {
      responses.set(String(request.headers['x-reader']), reply.raw);
    });
    await app.register(async (scope) => made.routes(scope as unknown as ConsoleApp), {
      prefix: '/admin/v1',
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
  });
  after(async () => {
    await app.close();
    await console_.close();
  });

  async function open(reader: string): Promise<Socket> {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`GET /admin/v1/live HTTP/1.1\r\nHost: localhost\r\nX-Reader: ${reader}\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    assert.match(first.toString(), /^HTTP\/1\.1 200 /);
    return socket;
  }

  it('tells a page every 5 seconds that the connection lives, by an event that the page sees', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const reading = await open('quiet');
      let received = '';
      reading.on('data', (chunk: Buffer) => (received += chunk.toString()));
      for (const beats of [1, 2]) {
        mock.timers.tick(5_000);
        for (
          let round = 0;
          round < 500 && received.split('event: beat\ndata: {}\n\n').length <= beats;
          round++
        )
          await new Promise((resolve) => setTimeout(resolve, 10));
        assert.equal(received.split('event: beat\ndata: {}\n\n').length, beats + 1);
      }
      reading.destroy();
    } finally {
      mock.timers.reset();
    }
  });

  it('is cut when 256 kB wait for it, and the others go on', async () => {
    const stuck = await open('stuck');
    stuck.pause();
    const reading = await open('reading');
    let received = '';
    reading.on('data', (chunk: Buffer) => (received = (received + chunk.toString()).slice(-1000)));
    const held = responses.get('stuck');
    const other = responses.get('reading');
    assert.ok(held && other);
    const event: LoadEvent = {
      uploadId: 'load',
      phase: 'reading',
      rowsRead: 1,
      bytesRead: 1,
      totalBytes: null,
      text: 'x'.repeat(32_000),
      isLoss: false,
    };
    let most = 0;
    for (let sent = 0; !held.destroyed && sent < maxNetworkBytes; sent += event.text.length) {
      live.sendLoad(event);
      most = Math.max(most, held.writableLength);
      // The one that reads gets its turn.
      while (other.writableLength > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.equal(held.destroyed, true);
    // One event more than the limit, with its frame.
    assert.ok(most > maxUnsentBytes && most < maxUnsentBytes + 2 * event.text.length, `${most} bytes`);
    stuck.destroy();
    live.sendLoad({ ...event, text: 'the last one' });
    for (let round = 0; round < 500 && !received.includes('the last one'); round++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.match(received, /the last one/);
    reading.destroy();
  });
});
