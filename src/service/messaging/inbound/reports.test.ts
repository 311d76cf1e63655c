import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, describe, it } from 'node:test';
import { readMdnOrDsn } from '../../../lib/mdn/index.ts';
import { decodeBody, parseEntity } from '../../../lib/mime/index.ts';
import {
  alice,
  bob,
  carol,
  openPlain,
  sendBody,
  startTestMessaging,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';

let world: TestMessaging;
before(async () => {
  world = await startTestMessaging();
});
after(() => world.close());
beforeEach(async () => {
  world.setOpenIncoming(openPlain);
  for (const { messageId } of await list()) await world.messaging.acknowledge(world.clinic, messageId, {});
  world.deliveries.splice(0);
});

const list = async () => (await world.messaging.listInbox(world.clinic, { limit: 100 })).messages;
const recipient = async (messageId: string, index = 0) =>
  (await world.messaging.getStatus(world.clinic, messageId)).recipients[index];

async function send(): Promise<{ messageId: string; wireId: string }> {
  const { messageId } = await world.messaging.send(world.clinic, sendBody({}), {});
  await world.report({ deliveryId: world.deliveries.at(-1)?.deliveryId ?? '', outcome: 'sent' });
  world.deliveries.splice(0);
  return { messageId, wireId: `<${messageId.slice(9)}@direct.alpha.example>` };
}

/** The found report about a message that bob got. */
function found(name: string, wireId: string): string {
  return readFileSync(new URL(`../../../../test/fixtures/found/mdn/${name}.eml`, import.meta.url), 'latin1')
    .replaceAll('<0b0e3a52-6f6e-4a39-9a55-0d6c4f2f9c11@direct.own.example>', wireId)
    .replaceAll('m1@direct.good.example', bob)
    .replaceAll('mailbox7@direct.good.example', 'mailbox7@direct.beta.example')
    .replaceAll('ehr@direct.own.example', alice)
    .replace('Thu, 26 Nov 2026 22', 'Sat, 21 Nov 2026 12')
    .replace('<r1@', `<r${wireId.slice(1, 37)}@`);
}

describe('reports as gateways send them', () => {
  const expected = {
    'processed-error-text': 'failed',
    'report-inside-mixed': 'processed',
    'mixed-instead-of-report': 'processed',
    'final-recipient-alias': 'processed',
  } as const;
  for (const [name, state] of Object.entries(expected)) {
    it(`${name}: the recipient is ${state}; nothing is shown as mail or answered`, async () => {
      const { messageId, wireId } = await send();
      await world.receive({ from: bob, to: [alice], inner: found(name, wireId) });
      const one = await recipient(messageId);
      assert.equal(one?.state, state);
      if (state === 'failed') assert.match(JSON.stringify(one), /decryption-failed/);
      assert.deepEqual([await list(), world.deliveries], [[], []]);
    });
  }

  it('MDN-23: the alias of a signer that was not asked changes nothing', async () => {
    const { messageId, wireId } = await send();
    await world.receive({ from: carol, to: [alice], inner: found('final-recipient-alias', wireId) });
    assert.equal((await recipient(messageId))?.state, 'sent');
  });

  it('a document beside a report is shown, the report is applied, and nothing is answered', async () => {
    const { messageId, wireId } = await send();
    const inner = found('report-inside-mixed', wireId).replace(
      /Content-Type: text\/plain(?=\r?\n\r?\nThis message was scanned)/,
      'Content-Type: application/pdf; name=lab.pdf',
    );
    await world.receive({
      from: bob,
      to: [alice],
      inner: `Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true\n${inner}`,
    });
    assert.equal((await recipient(messageId))?.state, 'processed');
    const [entry] = await list();
    assert.equal(entry?.sender, bob);
    await world.messaging.acknowledge(world.clinic, entry?.messageId ?? '', {});
    assert.deepEqual(world.deliveries, []);
  });
});

describe('what is never answered', () => {
  const wantsFinal = 'Disposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true\n';
  let count = 0;
  const mail = (headers: string): string =>
    `From: ${bob}\nTo: ${alice}\nMessage-ID: <u${count++}@direct.beta.example>\nMIME-Version: 1.0\n${wantsFinal}${headers}\nhello`;

  for (const [name, headers, mailFrom, why] of [
    ['an automatic message', 'Auto-Submitted: auto-generated\n', bob, 'auto-submitted'],
    ['an automatic answer', 'Auto-Submitted: auto-replied (vacation)\n', bob, 'auto-submitted'],
    ['an empty envelope sender', '', '', 'empty-return-path'],
    ['an empty return path', 'Return-Path: <>\n', bob, 'empty-return-path'],
  ] as const) {
    it(`RFC 3834 §2: ${name} is shown, and answered neither now nor when it is acknowledged`, async () => {
      const to = [alice, 'nobody@direct.alpha.example'];
      const inner = mail(headers);
      await world.receive({ from: bob, to, inner, mailFrom });
      await world.receive({ from: bob, to, inner, mailFrom });
      const [entry, ...others] = await list();
      assert.deepEqual([entry?.sender, others.length], [bob, 0]);
      await world.messaging.acknowledge(world.clinic, entry?.messageId ?? '', {});
      assert.deepEqual(world.deliveries, []);
      const [received] = await world.audit.find({ action: 'message.receive' });
      assert.equal(received?.objects['unanswered'], why);
    });
  }

  it('a person who says so (Auto-Submitted: no) is answered', async () => {
    await world.receive({ from: bob, to: [alice], inner: mail('Auto-Submitted: no\n') });
    assert.equal(world.deliveries.length, 1);
  });
});

it('RFC 8098 §3.2.5: both MDNs name the message by the octets of its header, whatever their form', async () => {
  const ids = [
    '6f9619ff-8b86-d011-b42d-00c04fc964ff',
    '<a8=?b@direct.beta.example>',
    `<${'y'.repeat(1500)}@b.example>`,
    '<1 2@b.example> (x)',
    '<größe@b.example>',
  ];
  for (const id of ids) {
    const inner = `From: ${bob}\r\nTo: ${alice}\r\nMessage-ID: ${id}\r\nMIME-Version: 1.0\r\nDisposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true\r\n\r\nhello`;
    await world.receive({ from: bob, to: [alice], inner: Buffer.from(inner) });
    const [entry] = await list();
    await world.messaging.acknowledge(world.clinic, entry?.messageId ?? '', {});
    const mdns = world.deliveries.splice(0).map(({ message }) => {
      const entity = parseEntity(message);
      const read = readMdnOrDsn(entity);
      return [
        read?.kind === 'mdn' ? read.disposition : '',
        decodeBody(entity.parts[1] ?? entity)
          .toString()
          .includes(`\r\nOriginal-Message-ID: ${id}\r\n`),
      ];
    });
    assert.deepEqual(
      mdns,
      [
        ['processed', true],
        ['dispatched', true],
      ],
      id.slice(0, 40),
    );
  }
});
