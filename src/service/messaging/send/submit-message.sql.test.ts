import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { parseEntity } from '../../../lib/mime/index.ts';
import { parseDirectAddress } from '../../../lib/values/index.ts';
import {
  alice,
  anna,
  bob,
  carol,
  mallory,
  sendBody,
  startTestMessaging,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import { MessagingError } from '../errors.ts';
import type { SubmitAnswer, SubmittedMail } from './submit-message.ts';

let world: TestMessaging;
before(async () => {
  world = await startTestMessaging({
    isStarted: false,
    settings: { maxAttachmentBytes: 100_000, maxAttachments: 2, maxRecipients: 3 },
  });
});
after(() => world.close());
beforeEach(() => world.deliveries.splice(0));

/** As eCRNow sends it: one part without text, the Message-ID of its mail host, no Date. */
const body = [
  'Content-Type: multipart/mixed; boundary="b"',
  '',
  'before the parts',
  '--b',
  'Content-Type: application/xml; charset=UTF-8; name="eICR_Report.xml"',
  'Content-Disposition: attachment; filename="eICR_Report.xml"',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  '<a title=3D"=C3=A9"/>',
  '--b--',
  'after them',
  '',
].join('\r\n');

let count = 0;
function mailOf(changes: { headers?: readonly string[]; rest?: string } & Partial<SubmittedMail> = {}) {
  const { headers, rest = body, ...envelope } = changes;
  const { to = [bob] } = envelope;
  const lines = headers ?? [
    `From: "Dr. A" <${alice}>`,
    'Subject: eICR Report ',
    'MIME-Version: 1.0',
    `Message-ID: <${++count}.correlation@smtp-host.example>`,
  ];
  const isVisible = lines.some((line) => line.startsWith('To:'));
  const visible = isVisible ? [] : [`To: ${to.filter((text) => text.includes('@')).join(', ')}`];
  const message = Buffer.from(`${[...lines, ...visible].join('\r\n')}\r\n${rest}`);
  return { from: alice, to, message, ...envelope };
}

const submit = (mail: SubmittedMail, client = world.clinic): Promise<SubmitAnswer> =>
  world.messaging.submit(client, mail, { requestId: 'edge-1', remoteAddress: '127.0.0.9' });

async function refusal(mail: SubmittedMail, client = world.clinic): Promise<MessagingError> {
  let found: unknown;
  await submit(mail, client).catch((error: unknown) => (found = error));
  assert.ok(found instanceof MessagingError, 'it must be refused');
  return found;
}

const faultsOf = async (mail: SubmittedMail): Promise<string[]> =>
  (await refusal(mail)).problems.map(({ field, reason }) => `${field} ${reason}`);

const sent = (): string => Buffer.from(world.deliveries.at(-1)?.message ?? '').toString();

describe('a message that a client composed itself', () => {
  it('goes out as it came, with a Date that was missing and without Bcc', async () => {
    const mail = mailOf({
      headers: [
        `From: ${alice}`,
        `To: ${bob}`,
        'Bcc: hidden@direct.example',
        'Message-ID: <7@host.example>',
        'X-Own: a',
        '\tb',
      ],
    });
    await submit(mail);
    assert.equal(
      sent(),
      `Date: Sat, 21 Nov 2026 12:00:00 +0000\r\nMIME-Version: 1.0\r\nFrom: ${alice}\r\nTo: ${bob}\r\nMessage-ID: <7@host.example>\r\nX-Own: a\r\n\tb\r\n${body}`,
    );
  });

  it('whose lines end in LF alone has one kind of line ends, and a binary part of that kind is refused', async () => {
    const lines = (text: string) => Buffer.from(text.replaceAll('\r\n', '\n'));
    const mail = mailOf();
    await submit({ ...mail, message: lines(mail.message.toString()) });
    assert.doesNotMatch(sent(), /(^|[^\r])\n/);
    const rest = body
      .replace('quoted-printable', 'binary')
      .replace('xml; charset=UTF-8', 'octet-stream')
      .replace('<a ', '<a\r\n');
    const binary = mailOf({ rest });
    assert.deepEqual(await faultsOf({ ...binary, message: lines(binary.message.toString()) }), [
      'message invalid',
    ]);
  });

  it('has the states, the status, the audit row and the counts of any other', async () => {
    const uuid = '0190d9c8-0000-7000-8000-00000000abcd';
    const { messageId, accepted } = await submit(
      mailOf({
        headers: [`From: ${alice}`, `To: ${bob}`, `Cc: ${carol}`, `Message-ID: <${uuid}@smtp-host.example>`],
        to: [bob, carol],
      }),
    );
    assert.deepEqual([messageId, accepted], [`urn:uuid:${uuid}`, [bob, carol]]);
    const status = await world.messaging.getStatus(world.clinic, messageId);
    assert.deepEqual(
      status.recipients.map(({ address, state }) => [address, state]),
      [
        [bob, 'queued'],
        [carol, 'queued'],
      ],
    );
    assert.equal(status.isAsmEnabled, false);
    const [row] = await world.audit.find({ action: 'message.accept', limit: 1 });
    assert.deepEqual(
      [row?.actor, row?.requestId, row?.objects['messageId'], row?.objects['to']],
      ['clinic', 'edge-1', `<${uuid}@smtp-host.example>`, `${bob} ${carol}`],
    );
  });

  it('is sent once, also when it is submitted twice at the same time', async () => {
    const mail = mailOf();
    const answers = await Promise.all([
      submit(mail),
      submit({ ...mail, message: Buffer.from(mail.message) }),
    ]);
    assert.equal(answers.filter(({ isReplay }) => isReplay).length, 1);
    assert.equal(answers[0]?.messageId, answers[1]?.messageId);
    assert.equal(world.deliveries.length, 1);
    const again = await submit({ ...mail, from: alice.toUpperCase().replace('@DIRECT', '@direct') });
    assert.equal(again.isReplay, true);
  });

  it('is sent to more recipients under its id, and to none of them twice', async () => {
    const headers = [
      `From: ${alice}`,
      `To: ${bob}, ${carol}, ${anna}`,
      'Message-ID: <0190d9c8-0000-7000-8000-00000000abce@smtp-host.example>',
    ];
    const to = (...recipients: readonly string[]) => submit(mailOf({ headers, to: recipients }));
    const first = await to(bob, carol);
    // Both at the same time: one of them is a repetition.
    const rest = await Promise.all([to(anna), to(anna)]);
    assert.equal(rest.filter(({ isReplay }) => isReplay).length, 1);
    assert.equal(rest[0]?.messageId, rest[1]?.messageId);
    assert.notEqual(rest[0]?.messageId, first.messageId);
    assert.deepEqual(
      world.deliveries.map(({ recipients }) => recipients),
      [[bob, carol], [anna]],
    );
    assert.deepEqual(await to(carol, bob), { ...first, isReplay: true, accepted: [carol, bob] });
    assert.equal((await to(anna)).messageId, rest[0]?.messageId);
    for (const some of [[bob], [bob, anna], [bob, carol, anna]])
      assert.deepEqual(await to(...some), { ...first, isReplay: true, accepted: some });
    const changed = mailOf({ headers: [...headers, 'X: y'], to: [mallory, bob] });
    assert.equal((await refusal({ ...changed, to: [anna] })).code, 'MESSAGING_ID_REUSED');
    assert.equal(world.deliveries.length, 2);
  });

  it('whose answer was lost is sent again to those recipients that lack it', async () => {
    const headers = [
      `From: ${alice}`,
      `To: ${bob}, ${carol}, ${anna}`,
      'Message-ID: <0190d9c8-0000-7000-8000-00000000abcf@smtp-host.example>',
    ];
    const to = (...recipients: readonly string[]) => submit(mailOf({ headers, to: recipients }));
    const first = await to(bob, anna);
    const both = await Promise.all([to(bob, carol, anna), to(carol, bob)]);
    assert.deepEqual(
      world.deliveries.map(({ recipients }) => recipients),
      [[bob, anna], [carol]],
    );
    const [sent] = both.filter(({ isReplay }) => !isReplay);
    assert.ok(sent !== undefined && sent.messageId !== first.messageId);
    const { recipients } = await world.messaging.getStatus(world.clinic, sent.messageId);
    assert.deepEqual(
      recipients.map(({ address }) => address),
      [carol],
    );
    assert.equal((await to(bob, carol, anna)).isReplay, true);
  });

  it('is stored under another name of the API if the client sent one of its id for another domain', async () => {
    const uuid = '0190d9c8-0000-7000-8000-00000000abd0';
    const own = parseDirectAddress('alice@direct.second.example');
    await world.trust.addDomain('direct.second.example');
    await world.trust.putAddress(own);
    const client = { ...world.clinic, directAddresses: [...world.clinic.directAddresses, own] };
    const mails = [alice, own].map((from) =>
      mailOf({ from, headers: [`From: ${from}`, `Message-ID: <${uuid}@host.example>`] }),
    );
    const answers = await Promise.all(mails.map((mail) => submit(mail, client)));
    assert.equal(new Set(answers.map(({ messageId }) => messageId)).size, 2);
    assert.ok(answers.some(({ messageId }) => messageId === `urn:uuid:${uuid}`));
    assert.equal(world.deliveries.length, 2);
    for (const [index, mail] of mails.entries())
      assert.deepEqual(await submit(mail, client), { ...answers[index], isReplay: true });
  });

  it('is another message with other bytes, which its id may not name', async () => {
    const mail = mailOf({ to: [bob, carol] });
    await submit(mail);
    const other = Buffer.from(mail.message.toString().replace('after them', 'after all'));
    assert.equal((await refusal({ ...mail, message: other })).code, 'MESSAGING_ID_REUSED');
    const sharing = { ...world.otherClient, directAddresses: world.clinic.directAddresses };
    assert.equal((await refusal(mail, sharing)).code, 'MESSAGING_ID_REUSED');
    assert.equal(world.deliveries.length, 1);
  });

  it('neither keeps the sender of another domain from its id nor tells of it', async () => {
    const mail = mailOf();
    const first = await submit(mail);
    const stranger = parseDirectAddress('eve@direct.delta.example');
    await world.trust.addDomain('direct.delta.example');
    await world.trust.putAddress(stranger);
    const same = Buffer.from(mail.message.toString().replace(alice, stranger));
    const second = await submit(
      { ...mail, from: stranger, message: same },
      { ...world.otherClient, directAddresses: [stranger] },
    );
    assert.equal(second.isReplay, false);
    assert.notEqual(second.messageId, first.messageId);
    const { recipients } = await world.messaging.getStatus(world.otherClient, second.messageId);
    assert.equal(recipients.length, 1);
    assert.equal(world.deliveries.length, 2);
  });

  it('names its recipients where the others see them, and what it lacks is added', async () => {
    assert.deepEqual(await faultsOf(mailOf({ headers: [`From: ${alice}`, `To: ${carol}`] })), [
      'To forbidden',
    ]);
    assert.deepEqual(await faultsOf(mailOf({ headers: [`From: ${alice}`, 'To: undisclosed <'] })), [
      'To invalid',
      'To forbidden',
    ]);
    await submit(mailOf({ headers: [`From: ${alice}`, `To: Team: ${bob};`, 'Date: ', 'MIME-Version:'] }));
    const fields = parseEntity(Buffer.from(sent()));
    for (const name of ['date', 'mime-version']) assert.equal(fields.headers(name).length, 1);
    assert.equal(fields.header('mime-version'), '1.0');
  });

  it('shares its id with sends of the REST API', async () => {
    const { json } = await world.messaging.send(world.clinic, sendBody({}), {});
    const { messageId } = JSON.parse(json) as { messageId: string };
    const headers = [`From: ${alice}`, `Message-ID: <${messageId.slice(9)}@elsewhere.example>`];
    assert.equal((await refusal(mailOf({ headers }))).code, 'MESSAGING_ID_REUSED');
  });

  it('without a Message-ID gets one, and is new each time', async () => {
    const mail = mailOf({ headers: [`From: ${alice}`] });
    const first = await submit(mail);
    const second = await submit({ ...mail, message: Buffer.from(mail.message) });
    assert.notEqual(first.messageId, second.messageId);
    assert.match(
      sent(),
      new RegExp(`^Message-ID: <${second.messageId.slice(9)}@direct\\.alpha\\.example>\r\n`),
    );
  });

  it('asks for final delivery by its own header, else by the setting of the client', async () => {
    const asked = 'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true';
    const statusOf = async (headers: readonly string[], client = world.clinic) =>
      world.messaging.getStatus(client, (await submit(mailOf({ headers }), client)).messageId);
    const plain = await statusOf([`From: ${alice}`]);
    const own = await statusOf([`From: ${alice}`, `Disposition-Notification-Options: ${asked}`]);
    const byClient = await statusOf([`From: ${alice}`], { ...world.clinic, requestFinalDelivery: true });
    assert.deepEqual(
      [plain, own, byClient].map(({ requestsFinalDelivery }) => requestsFinalDelivery),
      [false, true, true],
    );
    const fields = parseEntity(Buffer.from(sent()));
    assert.equal(fields.header('disposition-notification-options'), asked);
    assert.equal(fields.header('disposition-notification-to'), alice);
  });
});

describe('refusals of a submitted message', () => {
  it('recipients are refused one by one, and the others go', async () => {
    const { accepted, refused } = await submit(
      mailOf({ to: ['bob', bob, bob.toUpperCase(), carol, anna, mallory] }),
    );
    assert.deepEqual(accepted, [bob, carol, anna]);
    assert.deepEqual(refused, [
      { address: 'bob', reason: 'invalid', statusCode: '5.1.3' },
      { address: mallory, reason: 'too_many', statusCode: '4.5.3' },
    ]);
    assert.deepEqual(world.deliveries.at(-1)?.recipients, [bob, carol, anna]);
    assert.deepEqual(await faultsOf(mailOf({ to: ['bob'] })), ['to required']);
  });

  it('the sender is an address of the client, in the envelope and in the header', async () => {
    const id = 'Message-ID: <a@b.example>';
    assert.equal((await refusal(mailOf(), world.otherClient)).code, 'MESSAGING_SENDER_NOT_OWNED');
    assert.equal(
      (
        await refusal(
          mailOf({ from: 'gone@direct.alpha.example', headers: ['From: gone@direct.alpha.example'] }),
        )
      ).code,
      'MESSAGING_SENDER_NOT_HOSTED',
    );
    for (const headers of [
      [`From: ${anna}`, id],
      [id],
      [`From: ${alice}`, `From: ${mallory}`, id],
      [`From: ${alice}, ${anna}`, id],
    ])
      assert.deepEqual(await faultsOf(mailOf({ headers })), ['From forbidden'], headers.join('|'));
    assert.deepEqual(await faultsOf(mailOf({ headers: [`From: ${alice}`, `Sender: ${anna}`, id] })), [
      'Sender forbidden',
    ]);
    await assert.rejects(world.messaging.authorizeSender(world.clinic, mallory, {}), {
      code: 'MESSAGING_SENDER_NOT_OWNED',
    });
  });

  it('the limits of a send hold: size, attachments, programs, and an id that can be an id', async () => {
    const part = (name: string): string =>
      `--b\r\nContent-Type: application/pdf; name="${name}"\r\n\r\n%PDF-\r\n`;
    const mixed = (...parts: readonly string[]): string =>
      `Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`;
    const from = `From: ${alice}`;
    const large = await refusal(mailOf({ headers: [from], rest: `\r\n${'x'.repeat(1_140_001)}` }));
    assert.equal(large.code, 'MESSAGING_TOO_LARGE');
    assert.deepEqual(
      await faultsOf(mailOf({ headers: [from], rest: mixed(part('a'), part('b'), part('c')) })),
      ['message too_many'],
    );
    assert.deepEqual(await faultsOf(mailOf({ headers: [from], rest: mixed(part('a.exe')) })), [
      'message not_allowed',
    ]);
    assert.deepEqual(await faultsOf(mailOf({ headers: [from, 'Message-ID: two words'] })), [
      'Message-ID invalid',
    ]);
    assert.deepEqual(await faultsOf(mailOf({ headers: [from, 'X: a\rFrom: b'] })), ['message invalid']);
    assert.equal(world.deliveries.length, 0);
  });

  it('a recipient can be asked about before the message', async () => {
    world.refusals.set(carol.toLowerCase(), {
      recipient: carol,
      code: 'DIRECT_RECIPIENT_CERTIFICATE_MISSING',
      reason: 'no-certificate',
      statusCode: '5.7.31',
      isTransient: false,
      text: '',
    });
    const checks = await world.messaging.checkRecipients(world.clinic, {
      from: alice,
      texts: [bob, carol, 'x'],
    });
    assert.deepEqual(
      checks.map(({ reason, statusCode }) => `${statusCode} ${reason}`),
      ['2.0.0 ', '5.7.31 no-certificate', '5.1.3 invalid'],
    );
  });
});

it('a sent message that somebody gave to another edge account is refused and reported once', async () => {
  const own = { ...world.clinic, edgeAccount: 'own', keepsSent: true };
  await submit(mailOf(), own);
  const wireId = `<${count}.correlation@smtp-host.example>`;
  const sentId = (await world.messaging.findSent(own, wireId)) ?? '';
  const read = (client: typeof own) => world.messaging.readSent(client, sentId, {});
  assert.match((await read(own)).toString(), /eICR_Report/);
  const thief = { ...world.otherClient, edgeAccount: 'thief', keepsSent: true };
  await world.db.updateTable('sent_message').set({ edge_account: 'thief' }).execute();
  for (const _ of [1, 2]) await assert.rejects(read(thief), { code: 'MESSAGING_ROW_CHANGED' });
  const alarms = await world.audit.find({ action: 'integrity.refuse' });
  assert.deepEqual(
    alarms.map(({ objects }) => objects),
    [{ table: 'sent_message', row: sentId }],
  );
});
