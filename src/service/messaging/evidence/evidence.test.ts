import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { buildMdn } from '../../../lib/mdn/index.ts';
import {
  alice,
  bob,
  sendBody,
  startTestMessaging,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import { MessagingError } from '../errors.ts';

let world: TestMessaging;
before(async () => {
  world = await startTestMessaging();
  world.setOpenIncoming(async ({ message, recipients }) => ({
    inner: message.subarray(message.indexOf(0x0a) + 1),
    sender: bob,
    recipients,
    binding: 'address',
    signed: Buffer.from('the signed MDN'),
    signerPath: ['aa', 'bb'].map((fingerprint) => ({ fingerprint, der: Buffer.from(fingerprint, 'hex') })),
  }));
});
after(() => world.close());

async function sendAndAnswer(mdns: number): Promise<string> {
  const { messageId } = await world.messaging.send(world.clinic, sendBody(), {});
  const originalMessageId = world.deliveries.at(-1)?.messageId ?? '';
  for (let number = 0; number < mdns; number++) {
    const mdn = buildMdn({
      disposition: 'processed',
      finalRecipient: bob,
      originalSender: alice,
      originalMessageId,
      reportingUa: { host: 'hisp.beta.example', product: 'test' },
      messageId: `<${messageId.slice(-12)}-${number}@beta.example>`,
      date: world.clock.now(),
    });
    await world.receive({ from: bob, to: [alice], inner: mdn });
  }
  return messageId;
}

const countMdns = async (): Promise<number> =>
  (await world.db.selectFrom('mdn_evidence').select('id').execute()).length;

describe('evidence of delivery', () => {
  it('keeps each MDN with its signer, one row for each', async () => {
    await sendAndAnswer(1);
    const [row, ...others] = await world.db.selectFrom('mdn_evidence').selectAll().execute();
    assert.deepEqual([row?.signer_path, others.length], ['["aa","bb"]', 0]);
    assert.ok(!Buffer.from(row?.sealed_mdn ?? []).includes('signed MDN'));
  });

  it('keeps each certificate of the path once, and deletes it when no message can refer to it', async () => {
    const listKept = (): Promise<{ fingerprint: string; used_at: number }[]> =>
      world.db
        .selectFrom('path_certificate')
        .select(['fingerprint', 'used_at'])
        .orderBy('fingerprint')
        .execute();
    const first = await listKept();
    assert.deepEqual(
      first.map(({ fingerprint }) => fingerprint),
      ['aa', 'bb'],
    );
    world.clock.advance(2 * 86_400_000);
    await sendAndAnswer(2);
    const second = await listKept();
    assert.equal(second.length, 2);
    assert.ok((second[0]?.used_at ?? 0) - (first[0]?.used_at ?? 0) >= 2 * 86_400_000);
  });

  it('a peer that repeats its MDNs endlessly does not fill the database', async () => {
    const before = await countMdns();
    await sendAndAnswer(15);
    assert.equal((await countMdns()) - before, 10);
  });

  it('goes with the history of its message', async () => {
    assert.ok((await countMdns()) > 0);
    await world.db.deleteFrom('message').execute();
    assert.equal(await countMdns(), 0);
  });

  it('is refused without a key that could sign it, and for the message of another client', async () => {
    const messageId = await sendAndAnswer(0);
    const isCode =
      (code: string) =>
      (error: unknown): boolean =>
        error instanceof MessagingError && error.code === code;
    await assert.rejects(
      world.messaging.getEvidence(world.clinic, messageId, {}),
      isCode('MESSAGING_EVIDENCE_UNSIGNED'),
    );
    await assert.rejects(
      world.messaging.getEvidence(world.otherClient, messageId, {}),
      isCode('MESSAGING_MESSAGE_NOT_FOUND'),
    );
  });
});
