import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createSmtpServer, type SmtpServer } from '../../../lib/smtp/index.ts';
import { readMdnOrDsn } from '../../../lib/mdn/index.ts';
import { parseEntity } from '../../../lib/mime/index.ts';
import {
  createCrashChildren,
  type CrashChild,
  type CrashChildren,
} from '../../../../test/messaging/crash-children.ts';
import { createMigratedDatabase, type TestDatabase } from '../../../../test/support/storage.ts';
import { alice, bob, newUrn, sendBody, waitUntil } from '../../../../test/messaging/start-messaging.ts';

let database: TestDatabase;
let peer: SmtpServer;
const accepted: Uint8Array[] = [];
let children: CrashChildren;
const start = (...flags: string[]): Promise<CrashChild> => children.start(...flags);

before(async () => {
  database = await createMigratedDatabase();
  peer = await createSmtpServer({
    host: '127.0.0.1',
    port: 0,
    hostname: 'mx.beta.example',
    limits: { maxMessageBytes: 1_000_000, maxConnections: 10, idleMs: 5000 },
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
});

const sentIds = (): string[] =>
  accepted.map((message) => parseEntity(message).header('message-id')?.slice(1, 37) ?? '').sort();
const answeredIds = (): string[] =>
  accepted.flatMap((message) => [...(readMdnOrDsn(parseEntity(message))?.originalMessageIds ?? [])]);

async function statusOf(child: CrashChild, messageId: string): Promise<unknown> {
  return (await child.call('GET', `/messaging/dirmsg/status/${messageId}`)).body['messageStatus'];
}

/**
 * Sends one more message and waits until the peer has it. Everything that was due before has gone out by
 * then, so that what went out twice would be there, too.
 */
async function sendAnother(child: CrashChild): Promise<string> {
  const messageId = newUrn();
  const { status } = await child.call('POST', '/messaging/dirmsg/send_ccda', sendBody({ messageId }));
  assert.equal(status, 200);
  await waitUntil(async () => (await statusOf(child, messageId)) === 'sent', 'the later message at the peer');
  return messageId.slice(9);
}

describe('acknowledged mail survives kill -9', () => {
  it('a send answered 200 goes out after the restart, once, although it was in work when the process died', async () => {
    const messageId = newUrn();
    const body = sendBody({ messageId });
    const first = await start('--stuck');
    assert.equal((await first.call('POST', '/messaging/dirmsg/send_ccda', body)).status, 200);
    await first.kill();
    assert.equal(accepted.length, 0);

    const second = await start();
    await waitUntil(() => accepted.length > 0, 'the message at the peer');
    await waitUntil(async () => (await statusOf(second, messageId)) === 'sent', 'the status');
    // The client did not get the answer and asks again: the same answer, and nothing more goes out.
    assert.equal((await second.call('POST', '/messaging/dirmsg/send_ccda', body)).status, 200);
    const later = await sendAnother(second);
    assert.deepEqual(sentIds(), [messageId.slice(9), later].sort());
    assert.equal(
      parseEntity(accepted[0] ?? new Uint8Array()).header('message-id'),
      `<${messageId.slice(9)}@direct.alpha.example>`,
    );
    await second.kill();
    const third = await start();
    const last = await sendAnother(third);
    assert.deepEqual(sentIds(), [messageId.slice(9), later, last].sort());
    await third.kill();
  });

  it('accepted mail is in the inbox after the restart, once, and is answered once', async () => {
    accepted.splice(0);
    const inner = `From: ${bob}\r\nTo: ${alice}\r\nMessage-ID: <survivor@direct.beta.example>\r\n\r\nHello`;
    const first = await start('--stuck');
    first.process.send({ from: bob, to: [alice], message: `${bob}\n${inner}` });
    await waitUntil(() => first.said.some((line) => 'spooled' in line), 'the spool');
    await first.kill();

    const second = await start();
    const list = async () =>
      (await second.call('GET', '/messaging/dirmsg/inbox')).body['result'] as Record<string, unknown>[];
    await waitUntil(async () => (await list()).length === 1, 'the inbox');
    await waitUntil(() => accepted.length === 1, 'the processed MDN');
    const mdn = readMdnOrDsn(parseEntity(accepted[0] ?? new Uint8Array()));
    assert.deepEqual([mdn?.kind, mdn?.originalMessageIds], ['mdn', ['<survivor@direct.beta.example>']]);
    // The peer has the MDN before this node has stored that it was sent; a node that dies in between sends it
    // again.
    await sendAnother(second);
    await second.kill();
    const third = await start();
    const later = inner.replace('survivor', 'later');
    third.process.send({ from: bob, to: [alice], message: `${bob}\n${later}` });
    await waitUntil(() => answeredIds().includes('<later@direct.beta.example>'), 'the later MDN');
    assert.deepEqual(answeredIds(), ['<survivor@direct.beta.example>', '<later@direct.beta.example>']);
    const { body } = await third.call('GET', '/messaging/dirmsg/inbox');
    assert.equal((body['result'] as object[]).length, 2);
    await third.kill();
  });
});
