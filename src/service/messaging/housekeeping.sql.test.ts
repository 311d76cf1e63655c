import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createLog } from '../../platform/index.ts';
import {
  alice,
  anna,
  bob,
  sendBody,
  startTestMessaging,
  type TestMessaging,
} from '../../../test/messaging/start-messaging.ts';
import { insertInboundMail } from '../../../test/support/stored-rows.ts';
import { listDeadLetters } from './inbound/dead-letters.ts';
import { runHousekeeping } from './housekeeping.ts';
import type { MessagingDependencies } from './ports.ts';

const day = 86_400_000;
const lines: string[] = [];
let world: TestMessaging;
before(async () => {
  world = await startTestMessaging();
});
after(() => world.close());

async function keep(): Promise<string[]> {
  lines.splice(0);
  const log = createLog({ level: 'debug', isReadable: false, write: (line) => lines.push(line) });
  await runHousekeeping({ ...world, log } as unknown as MessagingDependencies);
  return lines.filter((line) => line.includes('waits for its edge client'));
}

const receive = (to: string, headers = '', text = 'Text') =>
  world.receive({
    from: bob,
    to: [to],
    inner: `From: ${bob}\nTo: ${to}\nSubject: Jane Doe\nMessage-ID: <${to}>\n${headers}\n${text}`,
  });
const waiting = async () => (await world.messaging.listInbox(world.clinic, {})).messages;
const countChunks = async () =>
  (
    await world.storage
      .tables<{ content_part: { position: number } }>()
      .selectFrom('content_part')
      .select('position')
      .execute()
  ).length;
const countMessages = async () => (await world.db.selectFrom('inbox_message').select('id').execute()).length;

describe('Decision 0014: retention', () => {
  it('MDN-14: the operator is notified once of a message whose sender waits for the dispatched MDN, after 30 minutes', async () => {
    await receive(
      alice,
      'Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true\n',
    );
    await receive(anna);
    // The second mail came a millisecond after the first.
    world.clock.advance(30 * 60_000 - 1);
    assert.deepEqual(await keep(), []);
    world.clock.advance(1);
    const warnings = await keep();
    assert.ok(warnings.length === 1 && warnings[0]?.includes(alice) && !warnings[0].includes('Jane'));
    assert.deepEqual(await keep(), []);
  });

  it('unacknowledged mail is reported after 30 days, and kept', async () => {
    world.clock.advance(30 * day);
    const warnings = await keep();
    assert.ok(warnings.length === 1 && warnings[0]?.includes(anna));
    world.clock.advance(365 * day);
    await keep();
    assert.equal((await waiting()).length, 2);
  });

  it('acknowledged mail is deleted after 30 days, with its content when the last copy goes', async () => {
    for (const { messageId } of await waiting())
      await world.messaging.acknowledge(world.clinic, messageId, {});
    world.clock.advance(30 * day);
    await keep();
    assert.equal(await countMessages(), 2);
    world.clock.advance(1);
    await keep();
    assert.equal(await countMessages(), 0);
  });

  it('a large one is deleted with all its parts, those of its spooled mail as soon as it was worked on', async () => {
    await receive(alice, '', 'a line of some length\n'.repeat(150_000));
    assert.equal(await countChunks(), 8);
    await keep();
    assert.equal(await countChunks(), 4);
    for (const { messageId } of await waiting())
      await world.messaging.acknowledge(world.clinic, messageId, {});
    world.clock.advance(30 * day + 1);
    await keep();
    assert.equal(await countChunks(), 0);
  });

  it('SEC-08: the details of a send are deleted after 30 days; status and history stay', async () => {
    const { messageId } = await world.messaging.send(world.clinic, sendBody({ patientLastname: 'Doe' }), {});
    const details = () => world.db.selectFrom('message').select('sealed_details').executeTakeFirstOrThrow();
    world.clock.advance(30 * day);
    await keep();
    assert.notEqual((await details()).sealed_details, null);
    world.clock.advance(1);
    await keep();
    assert.equal((await details()).sealed_details, null);
    assert.equal((await world.messaging.getStatus(world.clinic, messageId)).recipients[0]?.history.length, 1);
  });

  it('what an edge account keeps of what it sent goes with the details, large ones with all their parts', async () => {
    const content = Buffer.from('a line of some length\n'.repeat(150_000)).toString('base64');
    const attachment = { attachmentClass: 'text/plain', attachmentContent: content };
    await world.messaging.send(
      { ...world.clinic, edgeAccount: 'account', keepsSent: true },
      sendBody({ emailAttachmentList: [attachment] }),
      {},
    );
    const countSent = async () =>
      (await world.db.selectFrom('sent_message').select('message_id').execute()).length;
    world.clock.advance(30 * day);
    await keep();
    const chunks = await countChunks();
    assert.deepEqual([await countSent(), chunks > 4], [1, true]);
    world.clock.advance(1);
    await keep();
    assert.equal(await countSent(), 0);
    assert.ok((await countChunks()) < chunks);
  });

  it('a sent message goes with its recipients and history after 400 days', async () => {
    const { messageId } = await world.messaging.send(world.clinic, sendBody(), {});
    await world.report({ deliveryId: world.deliveries.at(-1)?.deliveryId ?? '', outcome: 'sent' });
    world.clock.advance(400 * day);
    await keep();
    await world.messaging.getStatus(world.clinic, messageId);
    world.clock.advance(1);
    await keep();
    await assert.rejects(world.messaging.getStatus(world.clinic, messageId), {
      code: 'MESSAGING_MESSAGE_NOT_FOUND',
    });
    const left = await Promise.all([
      world.db.selectFrom('message').select('id').execute(),
      world.db.selectFrom('message_recipient').select('id').execute(),
      world.db.selectFrom('recipient_event').select('id').execute(),
    ]);
    assert.deepEqual(left.flat(), []);
  });

  it('deletes more than one batch per run, so that it keeps up with new mail', async () => {
    const receivedAt = world.clock.now().getTime();
    const rows = Array.from({ length: 1_200 }, (_, index) => ({
      hash: createHash('sha256').update(`${index}`).digest(),
      received_at: receivedAt,
      answered_at: 0,
    }));
    for (let start = 0; start < rows.length; start += 300)
      await world.db
        .insertInto('received_register')
        .values(rows.slice(start, start + 300))
        .execute();
    const count = async () =>
      (await world.db.selectFrom('received_register').select('hash').execute()).length;
    world.clock.advance(400 * day);
    await keep();
    assert.ok((await count()) >= 1_200);
    world.clock.advance(1);
    await keep();
    assert.equal(await count(), 0);
  });

  it('dead letters are discarded after 90 days, and audited', async () => {
    await insertInboundMail(world.storage, {
      atMs: world.clock.now().getTime(),
      id: 'dead',
      sealed_mail: await world.contents.write(Buffer.from('x'), 'inbound:dead'),
      state: 'dead-letter',
      last_error: 'X_BROKEN',
    });
    world.clock.advance(90 * day);
    await keep();
    assert.equal((await listDeadLetters(world.storage)).length, 1);
    world.clock.advance(1);
    await keep();
    assert.deepEqual(await listDeadLetters(world.storage), []);
    const [event] = await world.audit.find({ action: 'message.discard' });
    assert.deepEqual([event?.objects?.['mailId'], event?.objects?.['reason']], ['dead', 'X_BROKEN']);
  });
});
