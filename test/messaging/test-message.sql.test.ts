/** A test message of an operator: whose it is, what it says, and that it is sent once. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { runFrom } from '../../src/service/audit/index.ts';
import type { TestMessage } from '../../src/service/messaging/index.ts';
import { countUsage } from '../../src/service/messaging/usage/count-usage.ts';
import {
  alice,
  bob,
  createTestNodes,
  newUrn,
  startTestMessaging,
  type TestMessaging,
} from './start-messaging.ts';

const ann = 'operator:Ann Lee';
/** Hosted, and no client or edge account has it. */
const nobodys = parseDirectAddress('front.desk@direct.alpha.example');

const test = (fields: Partial<TestMessage> = {}): TestMessage => ({
  fromDirectAddress: nobodys,
  toDirectAddress: bob,
  ...fields,
});

const mdn = (wireId: string, to: string, disposition: string): string =>
  `From: ${bob}\nTo: ${to}\nMessage-ID: <${newUrn().slice(9)}@direct.beta.example>\nMIME-Version: 1.0\n` +
  `Content-Type: multipart/report; report-type=disposition-notification; boundary=b\n\n--b\n\nok\n--b\nContent-Type: message/disposition-notification\n\n` +
  `Final-Recipient: rfc822;${bob}\nOriginal-Message-ID: ${wireId}\nDisposition: automatic-action/MDN-sent-automatically;${disposition}\n--b--\n`;

describe('a test message of an operator', () => {
  let one: TestMessaging;
  let two: TestMessaging;
  before(async () => {
    const node = await createTestNodes();
    // The strictest: mail that nobody reads is refused.
    const settings = { refusesUnreadMail: true };
    one = await startTestMessaging({ node, settings });
    two = await startTestMessaging({ node, settings });
    await one.trust.putAddress(nobodys);
  });
  after(async () => {
    await one.close();
    await two.close();
  });

  const explain = async (messageId: string) => {
    const found = await one.messaging.as(ann).explain(messageId);
    assert.ok(found.direction === 'out');
    return found;
  };

  it('goes to delivery with a fixed text that names the HISP and the operator', async () => {
    const { messageId } = await one.messaging.sendTest(ann, test());
    const { message, recipients, from } = one.deliveries.at(-1) ?? assert.fail('no delivery');
    assert.deepEqual([from, recipients], [nobodys, [bob]]);
    const text = Buffer.from(message).toString().replaceAll('\r\n ', ' ');
    assert.match(text, /^Subject: Test message of the HISP hisp\.alpha\.example, sent by Ann Lee\r$/m);
    assert.match(text, /It contains no patient data/);
    assert.match(text, new RegExp(`^Message-ID: <${messageId.slice(9)}@direct\\.alpha\\.example>\r$`, 'm'));
  });

  it('gets its MDN, also if no client covers its sender, and is nobody else’s message', async () => {
    const { messageId } = await one.messaging.sendTest(ann, test({ fromDirectAddress: alice }));
    await one.report({ deliveryId: one.deliveries.at(-1)?.deliveryId ?? '', outcome: 'sent' });
    const other = await one.messaging.sendTest(ann, test());
    await one.report({ deliveryId: one.deliveries.at(-1)?.deliveryId ?? '', outcome: 'sent' });
    for (const [id, from, disposition] of [
      [messageId, alice, 'processed'],
      [other.messageId, nobodys, 'failed'],
    ] as const)
      await one.receive({
        from: bob,
        to: [from],
        inner: mdn(`<${id.slice(9)}@direct.alpha.example>`, from, disposition),
      });
    const found = await explain(messageId);
    assert.equal(found.clientId, ann);
    assert.equal(found.recipients[0]?.state, 'processed');
    assert.equal((await explain(other.messageId)).recipients[0]?.state, 'failed');
    // The client that has the address did not send it.
    await assert.rejects(one.messaging.getStatus(one.clinic, messageId), {
      code: 'MESSAGING_MESSAGE_NOT_FOUND',
    });
    assert.deepEqual((await one.messaging.listInbox(one.clinic, {})).messages, []);
  });

  it('is one message, however often and on how many nodes it is sent at the same time', async () => {
    for (let round = 0; round < 3; round++) {
      const before = one.deliveries.length + two.deliveries.length;
      const same = test({ messageId: newUrn() });
      const answers = await Promise.all([one, two, one].map((world) => world.messaging.sendTest(ann, same)));
      assert.equal(new Set(answers.map(({ json }) => json)).size, 1);
      assert.equal(one.deliveries.length + two.deliveries.length, before + 1);
      await assert.rejects(two.messaging.sendTest(ann, { ...same, toDirectAddress: alice }), {
        code: 'MESSAGING_ID_REUSED',
      });
      one.clock.advance(600_000);
    }
  });

  it('is refused for a sender that is not hosted or disabled, and for more than one recipient', async () => {
    const wrong: readonly (readonly [Partial<TestMessage>, string, string])[] = [
      [
        { fromDirectAddress: 'mallory@elsewhere.example' },
        'MESSAGING_SENDER_NOT_HOSTED',
        'fromDirectAddress',
      ],
      [
        { fromDirectAddress: 'gone@direct.alpha.example' },
        'MESSAGING_SENDER_NOT_HOSTED',
        'fromDirectAddress',
      ],
      [{ fromDirectAddress: '@direct.alpha.example' }, 'MESSAGING_REQUEST_INVALID', 'fromDirectAddress'],
      [{ toDirectAddress: `${bob}, ${alice}` }, 'MESSAGING_REQUEST_INVALID', 'toDirectAddress'],
      [{ toDirectAddress: 'bob\r\nBcc: x@y.example' }, 'MESSAGING_REQUEST_INVALID', 'toDirectAddress'],
      [{ messageId: 'urn:uuid:1' }, 'MESSAGING_REQUEST_INVALID', 'messageId'],
    ];
    const before = one.deliveries.length;
    for (const [fields, code, field] of wrong)
      await assert.rejects(one.messaging.sendTest('operator:Bo', test(fields)), (error: Error) => {
        const refusal = error as Error & { code: string; problems: readonly { field: string }[] };
        return refusal.code === code && refusal.problems[0]?.field === field;
      });
    assert.equal(one.deliveries.length, before);
  });

  it('is limited for each operator, so that it fills nobody’s mailbox', async () => {
    const sendAll = async (actor: string): Promise<readonly string[]> => {
      const all = await Promise.allSettled(
        Array.from({ length: 30 }, () => one.messaging.sendTest(actor, test())),
      );
      return all.map((each) =>
        each.status === 'fulfilled' ? 'sent' : (each.reason as { code: string }).code,
      );
    };
    const outcomes = await sendAll('operator:Cy');
    assert.equal(outcomes.filter((outcome) => outcome === 'sent').length, 10);
    assert.equal(outcomes.filter((outcome) => outcome === 'MESSAGING_RATE_LIMITED').length, 20);
    one.clock.advance(60_000);
    const same = test({ messageId: newUrn() });
    for (let times = 0; times < 3; times++) await one.messaging.sendTest('operator:Cy', same);
    await assert.rejects(one.messaging.sendTest('operator:Cy', test()), { code: 'MESSAGING_RATE_LIMITED' });
    one.clock.advance(60_000);
    assert.equal((await sendAll('operator:Cy')).filter((outcome) => outcome === 'sent').length, 1);
    assert.equal((await sendAll('operator:Di')).filter((outcome) => outcome === 'sent').length, 10);
  });

  it('leaves an audit row with the operator, the channel and the session', async () => {
    const { messageId } = await runFrom(
      { channel: 'console', session: 's-1', remoteAddress: '192.0.2.9' },
      () => one.messaging.sendTest('operator:Eve', test(), { requestId: 'r-1' }),
    );
    const [row] = await one.audit.find({ actor: 'operator:Eve', action: 'message.accept' });
    assert.deepEqual(
      [row?.channel, row?.session, row?.requestId, row?.objects['from'], row?.objects['to']],
      ['console', 's-1', 'r-1', nobodys, bob],
    );
    assert.equal((await explain(messageId)).requestId, 'r-1');
  });

  it('is counted as the operator’s, for the HISP', async () => {
    await countUsage(one, 86_400_000);
    const rows = await one.db
      .selectFrom('usage_day')
      .select(['client_id', 'organization_id', 'messages'])
      .where('client_id', '=', 'operator:Eve')
      .execute();
    assert.deepEqual(
      rows.map((row) => ({ ...row, messages: Number(row.messages) })),
      [{ client_id: 'operator:Eve', organization_id: 'operator', messages: 1 }],
    );
  });
});
