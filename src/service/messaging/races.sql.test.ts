/** Two nodes over one database do the same thing at the same time, hundreds of times. */
// needsOwnProcess: the nodes of races end with the first file.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { retryDeadLetters } from './inbound/dead-letters.ts';
import { collide, random, refusals, roundsOf } from '../../../test/nodes/race.ts';
import {
  alice,
  anna,
  bob,
  createTestNodes,
  newUrn,
  sendBody,
  spoolAll,
  startTestMessaging,
  waitUntil,
  type TestMessaging,
  type TestNode,
} from '../../../test/messaging/start-messaging.ts';

const rounds = roundsOf(200);
const windowMs = 60_000;

let node: TestNode;
let one: TestMessaging;
let two: TestMessaging;
before(async () => {
  node = await createTestNodes();
  const options = { node, settings: { processedWindowMinutes: 1, dispatchedWindowMinutes: 1 } };
  one = await startTestMessaging(options);
  two = await startTestMessaging(options);
});
after(async () => {
  await one.close();
  await two.close();
});

const wrapped = (from: string, inner: string): Buffer =>
  Buffer.from(`${from}\n${inner.replaceAll('\n', '\r\n')}`);
const message = (id: string): string =>
  `From: ${bob}\nTo: ${alice}\nMessage-ID: <${id}@direct.beta.example>\n\nHello`;
const mdn = (id: string, wireId: string, disposition: string): string =>
  `From: ${bob}\nTo: ${alice}\nMessage-ID: <${id}@direct.beta.example>\nMIME-Version: 1.0\n` +
  `Content-Type: multipart/report; report-type=disposition-notification; boundary=b\n\n--b\n\nok\n--b\nContent-Type: message/disposition-notification\n\n` +
  `Final-Recipient: rfc822;${bob}\nOriginal-Message-ID: ${wireId}\nDisposition: automatic-action/MDN-sent-automatically;${disposition}\n--b--\n`;

const accept = (
  world: TestMessaging,
  inner: string,
  { mailFrom = bob as string, to = [alice as string] } = {},
) => world.messaging.acceptInbound({ mailFrom, recipients: to, message: wrapped(bob, inner) });

async function countCopies(wireId: string): Promise<number> {
  const rows = await one.db
    .selectFrom('inbox_copy as c')
    .innerJoin('inbox_message as m', 'm.id', 'c.message_id')
    .select('c.id')
    .where('m.wire_id', '=', wireId)
    .execute();
  return rows.length;
}

/** Sends and lets the peer's server take it; returns the id and the name on the wire. */
async function sendOne(): Promise<{ messageId: string; wireId: string }> {
  const { messageId } = await one.messaging.send(one.clinic, sendBody(), {});
  await one.report({ deliveryId: one.deliveries.at(-1)?.deliveryId ?? '', outcome: 'sent' });
  return { messageId, wireId: `<${messageId.slice(9)}@direct.alpha.example>` };
}

async function recipientOf(messageId: string) {
  const [recipient] = (await one.messaging.getStatus(one.clinic, messageId)).recipients;
  assert.ok(recipient !== undefined);
  return recipient;
}

/** Each event begins where the one before ended, and only one of them entered a final state. */
function assertOneStory(recipient: Awaited<ReturnType<typeof recipientOf>>, events: number): void {
  assert.equal(recipient.history.length, events);
  assert.equal(recipient.history.at(-1)?.status, recipient.state);
  const entered = recipient.history.filter(({ isLate }, index) => index >= 2 && !isLate);
  assert.equal(entered.length, 1, JSON.stringify(recipient.history));
}

describe('two nodes at the same time', () => {
  it('take the same mail, also in different envelopes: one copy, and no mail is refused for it', async () => {
    for (let round = 0; round < rounds; round++) {
      const envelopes = [{}, round % 2 === 0 ? {} : { mailFrom: 'relay@direct.beta.example' }];
      const inner = message(`same-${round}`);
      await Promise.all([accept(one, inner, envelopes[0]), accept(two, inner, envelopes[1])]);
    }
    const spooled = await one.db.selectFrom('inbound_mail').select('id').execute();
    assert.deepEqual(spooled, []);
    for (let round = 0; round < rounds; round++)
      assert.equal(await countCopies(`<same-${round}@direct.beta.example>`), 1);
    // The copy is answered by one node, the duplicate once by the other.
    assert.equal(one.deliveries.length + two.deliveries.length, 2 * rounds);
  });

  it('take mail that overlaps in its recipients: each recipient has one copy', async () => {
    for (let round = 0; round < rounds; round++) {
      const inner = message(`overlap-${round}`);
      await Promise.all([
        accept(one, inner, { to: [alice, anna] }),
        accept(two, inner, { to: [anna, alice] }),
      ]);
    }
    for (let round = 0; round < rounds; round++)
      assert.equal(await countCopies(`<overlap-${round}@direct.beta.example>`), 2);
  });

  it('get the same send: one message, one delivery, the same answer', async () => {
    one.deliveries.splice(0);
    two.deliveries.splice(0);
    for (let round = 0; round < rounds; round++) {
      const body = sendBody({ messageId: newUrn() });
      const answers = await Promise.all(
        [one, two, one].map((world) => world.messaging.send(world.clinic, body, {})),
      );
      assert.equal(new Set(answers.map(({ json }) => json)).size, 1);
      assert.equal(answers.filter(({ isReplay }) => !isReplay).length, 1);
    }
    assert.equal(one.deliveries.length + two.deliveries.length, rounds);
  });

  it('get two MDNs for one recipient: one decides, the other is late, and both are in the history', async () => {
    for (let round = 0; round < rounds; round++) {
      const { messageId, wireId } = await sendOne();
      await Promise.all([
        accept(one, mdn(`p-${round}`, wireId, 'processed')),
        accept(two, mdn(`f-${round}`, wireId, 'failed')),
      ]);
      assertOneStory(await recipientOf(messageId), 4);
    }
  });

  it('get the same MDN twice: it is in the history once', async () => {
    for (let round = 0; round < roundsOf(50); round++) {
      const { messageId, wireId } = await sendOne();
      const inner = mdn(`twice-${round}`, wireId, 'processed');
      await Promise.all([accept(one, inner), accept(two, inner)]);
      assertOneStory(await recipientOf(messageId), 3);
    }
  });

  it('get an MDN while the window closes: one of the two decides', async () => {
    for (let round = 0; round < roundsOf(100); round++) {
      const { messageId, wireId } = await sendOne();
      node.clock.advance(windowMs);
      await sleep(random() * 25);
      await accept(two, mdn(`w-${round}`, wireId, 'processed'));
      await waitUntil(async () => (await recipientOf(messageId)).isFinal);
      const recipient = await recipientOf(messageId);
      assertOneStory(recipient, recipient.state === 'expired' ? 4 : 3);
    }
  });

  it('acknowledge one message: the sender gets one dispatched MDN, and both clients the same time', async () => {
    one.deliveries.splice(0);
    two.deliveries.splice(0);
    const count = roundsOf(50);
    for (let round = 0; round < count; round++) {
      const wireId = `<ack-${round}@direct.beta.example>`;
      await accept(
        one,
        message(`ack-${round}`).replace(
          '\n\nHello',
          '\nDisposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true\n\nHello',
        ),
      );
      const copy = await one.db
        .selectFrom('inbox_copy as c')
        .innerJoin('inbox_message as m', 'm.id', 'c.message_id')
        .select('c.id')
        .where('m.wire_id', '=', wireId)
        .executeTakeFirstOrThrow();
      const times = await Promise.all(
        [one, two].map(async ({ messaging, clinic }) => {
          await sleep(random() * 4);
          // Each node's own clock would give another time.
          node.clock.advance(1);
          return messaging.acknowledge(clinic, `urn:uuid:${copy.id}`, {});
        }),
      );
      assert.equal(times[0]?.getTime(), times[1]?.getTime());
    }
    // One processed and one dispatched MDN each.
    assert.equal(one.deliveries.length + two.deliveries.length, 2 * count);
  });

  it('retry a dead letter while its mail comes again: it waits once, and neither is refused', async () => {
    // Nobody works on what waits, and nobody gives its room back.
    const idle = {
      node: await createTestNodes(),
      directLimits: spoolAll,
      settings: { maxWaitingPerSenderDomain: Infinity },
      isStarted: false,
    };
    const spooling = await startTestMessaging(idle);
    const other = await startTestMessaging(idle);
    for (let round = 0; round < roundsOf(50); round++) {
      const inner = message(`dead-${round}`);
      await accept(spooling, inner);
      const { id } = await spooling.db.selectFrom('inbound_mail').select('id').executeTakeFirstOrThrow();
      const isThis = spooling.db.updateTable('inbound_mail').where('id', '=', id);
      await isThis.set({ state: 'dead-letter' }).execute();
      const results = await collide(
        () => retryDeadLetters(other.storage),
        () => accept(spooling, inner),
      );
      assert.deepEqual(refusals(results), []);
      const rows = await spooling.db.selectFrom('inbound_mail').select(['id', 'state']).execute();
      assert.equal(rows.filter(({ state }) => state === 'waiting').length, 1);
      await spooling.db.deleteFrom('inbound_mail').execute();
    }
    await other.close();
    await spooling.close();
  });

  it('the audit chain is whole', async () => {
    await one.audit.verifyChain();
  });
});
