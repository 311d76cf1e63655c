/**
 * A node that is stopped (SIGSTOP) for twice its lease, in each phase of its work, while another node over
 * the same database continues.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readMdnOrDsn } from '../../lib/mdn/index.ts';
import { parseEntity } from '../../lib/mime/index.ts';
import { createSmtpServer, type SmtpServer } from '../../lib/smtp/index.ts';
import type { Storage } from '../../platform/index.ts';
import {
  createCrashChildren,
  type CrashChild,
  type CrashChildren,
} from '../../../test/messaging/crash-children.ts';
import { alice, bob, newUrn, sendBody, waitUntil } from '../../../test/messaging/start-messaging.ts';
import { createMigratedDatabase, isPostgres } from '../../../test/support/storage.ts';
import { timeScale } from '../../../test/support/time-scale.ts';

/**
 * For deliveries and for mail. On a busy machine an attempt takes seconds, and a lease that runs out under it
 * is claimed again and again.
 */
const leaseMs = Math.round(1_000 * timeScale());
process.env['OPENHISP_TEST_LEASE_MS'] = String(leaseMs);

let storage: Storage;
let peer: SmtpServer;
let children: CrashChildren;
let accepted: Uint8Array[] = [];

before(async () => {
  const database = await createMigratedDatabase();
  storage = await database.open();
  peer = await createSmtpServer({
    host: '127.0.0.1',
    port: 0,
    hostname: 'mx.beta.example',
    limits: { maxMessageBytes: 1_000_000, maxConnections: 10, idleMs: 60_000 },
    handlers: {
      onRecipient: async () => 'accept',
      onMessage: async ({ message }) => void accepted.push(message),
    },
  });
  children = createCrashChildren(database, peer.port);
});
after(async () => {
  children.killAll();
  await peer.close();
  await storage.close();
});

const isStopped = ({ process: { pid } }: CrashChild) =>
  /^\d+ \(.*\) T /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
const hasLostLease = ({ said }: CrashChild) =>
  said.some(({ warning }) => warning?.includes('a lease was lost'));

/** Everything that a worker stores of what it did. */
async function readAll(): Promise<unknown> {
  const db = storage.tables<Record<string, Record<string, unknown>>>();
  const tables = ['delivery', 'delivery_destination', 'delivery_attempt', 'recipient_event', 'inbound_mail'];
  return Promise.all(
    [...tables, 'inbox_copy', 'message_recipient'].map((table) => db.selectFrom(table).selectAll().execute()),
  );
}

/**
 * Lets the stopped node stand still for twice its lease, continues it, and requires that it writes nothing.
 */
async function requireNothingWritten(stopped: CrashChild, stoppedAt: number): Promise<void> {
  await sleep(Math.max(0, stoppedAt + 2 * leaseMs - performance.now()));
  const stored = await readAll();
  stopped.process.kill('SIGCONT');
  await waitUntil(() => hasLostLease(stopped), 'the stopped node to find out');
  assert.deepEqual(await readAll(), stored);
}

describe('a node that was stopped for twice its lease', { skip: process.platform !== 'linux' }, () => {
  for (const [phase, mostCopies] of [
    ['claim', 1],
    ['seal', 1],
    // The peer was ready for the data, or had it, before the stop: nobody can take that back.
    ['data', 2],
    ['settle', 2],
    // Inside the transaction of the result; with SQLite one process serves, and nobody waits for its lock.
    ...(isPostgres ? [['store', 2] as const] : []),
  ] as const)
    it(`at ${phase} of a message writes nothing; another node has sent it with the same Message-ID`, async () => {
      accepted = [];
      const messageId = newUrn();
      const first = await children.start(`--stop-at=${phase}`);
      // Its answer may come only after the stop.
      const sending = first.call('POST', '/messaging/dirmsg/send_ccda', sendBody({ messageId }));
      await waitUntil(() => isStopped(first), 'the stop');
      const stoppedAt = performance.now();
      const other = await children.start();
      const readState = async () => {
        // Asking all the time would slow down the node that is asked.
        await sleep(100);
        return (await other.call('GET', `/messaging/dirmsg/status/${messageId}`)).body['messageStatus'];
      };
      await waitUntil(async () => (await readState()) === 'sent', 'the other node');
      await requireNothingWritten(first, stoppedAt);
      assert.equal((await sending).status, 200);
      await first.kill();
      await other.kill();
      const ids = accepted.map((message) => parseEntity(message).header('message-id'));
      assert.deepEqual(new Set(ids), new Set([`<${messageId.slice(9)}@direct.alpha.example>`]));
      assert.ok(ids.length <= mostCopies, `${ids.length} copies`);
    });

  it('at the judgement of mail writes nothing; the other node has stored it once and answered it once', async () => {
    accepted = [];
    const inner = `From: ${bob}\r\nTo: ${alice}\r\nMessage-ID: <stopped@direct.beta.example>\r\n\r\nHello`;
    const first = await children.start('--stop-at=judge');
    first.process.send({ from: bob, to: [alice], message: `${bob}\n${inner}` });
    await waitUntil(() => isStopped(first), 'the stop');
    const stoppedAt = performance.now();
    const other = await children.start();
    await waitUntil(() => accepted.length === 1, 'the processed MDN');
    await waitUntil(
      async () =>
        (await storage.tables<{ delivery: { id: string } }>().selectFrom('delivery').select('id').execute())
          .length === 0,
      'the end of the delivery',
    );
    await requireNothingWritten(first, stoppedAt);
    const inbox = (await other.call('GET', '/messaging/dirmsg/inbox')).body['result'] as object[];
    assert.equal(inbox.length, 1);
    await first.kill();
    await other.kill();
    assert.deepEqual(
      accepted.map((message) => readMdnOrDsn(parseEntity(message))?.originalMessageIds),
      [['<stopped@direct.beta.example>']],
    );
  });
});
