/** What the listener for mail says while the database is away: one line, not one per connection. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectLines } from '../../../test/support/collect-lines.ts';
import { createSmtpClient } from '../../lib/smtp/index.ts';
import { PlatformError } from '../../platform/index.ts';
import { startSmtpListener, type SmtpListenerOptions } from './listen.ts';

test('ten servers with mail are one line, and each is told to come again', async () => {
  const { log, lines } = collectLines();
  let isAway = true;
  let accepted = 0;
  const server = await startSmtpListener({
    host: '127.0.0.1',
    port: 0,
    hostname: 'mx.own.example',
    limits: { maxMessageBytes: 10_000, maxConnections: 10, idleMs: 5_000 },
    log,
    trust: { findDomainState: async () => 'open' },
    messaging: {
      checkSpool() {},
      noteRefused() {},
      async acceptInbound() {
        if (isAway) throw new PlatformError('PLATFORM_STORAGE_UNAVAILABLE', 'PostgreSQL unreachable');
        accepted++;
      },
    },
    disk: { requireRoom() {} },
  } satisfies SmtpListenerOptions);
  const client = createSmtpClient({ hostname: 'mx.peer.example', timeoutMs: 5_000 });
  const message = Buffer.from(
    'From: a@peer.example\r\nTo: b@own.example\r\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data\r\n\r\nx\r\n',
  );
  const send = () =>
    client.send({
      host: '127.0.0.1',
      port: server.port,
      mailFrom: 'a@peer.example',
      recipients: ['b@own.example'],
      message,
    });
  try {
    for (let count = 0; count < 10; count++) {
      const { rejected } = await send();
      assert.deepEqual(
        rejected.map(({ code }) => code),
        [451],
      );
    }
    assert.deepEqual(lines, ['error a worker could not take mail']);
    isAway = false;
    await send();
    assert.equal(accepted, 1);
  } finally {
    await client.close();
    await server.close();
  }
});
