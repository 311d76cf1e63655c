/** Requirements that no single module decides, shown on a whole sandbox: outgoing data, trust, webhook content. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { demoAddress, partners } from '../../src/app/dev/index.ts';
import { buildMdn } from '../../src/lib/mdn/index.ts';
import { decodeBody, parseEntity } from '../../src/lib/mime/index.ts';
import { sendMail } from '../../src/lib/smtp/index.ts';
import { openTestSandbox, readStatus, send, waitFor, type TestSandbox } from '../system/sandbox-fixture.ts';

const secretWords = ['Thistledown', 'Abernathy', '19630401', 'a-subject-to-keep', 'a-text-to-keep'];

let world: TestSandbox;

before(async () => {
  world = await openTestSandbox();
});
after(() => world.close());

const sendTo = (to: string, extra: Readonly<Record<string, unknown>> = {}): Promise<string> =>
  send(world.client, {
    fromDirectAddress: demoAddress,
    toDirectAddress: to,
    messageSubject: 'a-subject-to-keep',
    messageBody: 'a-text-to-keep',
    patientLastname: 'Thistledown',
    patientFirstname: 'Abernathy',
    patientDOB: '19630401',
    ...extra,
  });

const lastMailTo = (address: string) =>
  waitFor(
    () => world.sandbox.world.silentMail.filter((mail) => mail.recipients.includes(address)).at(-1),
    (mail) => mail !== undefined,
  );

describe('outgoing data', () => {
  it('VER-01: a message is enveloped with AES-256-CBC and RSAES-OAEP, base64, as smime.p7m', async () => {
    await sendTo(partners.expired);
    const entity = parseEntity((await lastMailTo(partners.expired))?.message ?? Buffer.alloc(0));
    assert.equal(entity.contentType.mediaType, 'application/pkcs7-mime');
    assert.equal(entity.contentType.parameters.get('smime-type'), 'enveloped-data');
    const cms = decodeBody(entity);
    // Object identifiers as DER: aes256-CBC (2.16.840.1.101.3.4.1.42) and id-RSAES-OAEP (1.2.840.113549.1.1.7).
    assert.ok(cms.includes(Buffer.from('060960864801650304012a', 'hex')));
    assert.ok(cms.includes(Buffer.from('06092a864886f70d010107', 'hex')));
  });

  it('AS-35, SEC-07: nothing of the content is readable in the mail that goes out', async () => {
    await sendTo(partners.expired);
    const text = Buffer.from((await lastMailTo(partners.expired))?.message ?? []).toString('latin1');
    assert.doesNotMatch(text, /^Subject:/im);
    const decoded = decodeBody(parseEntity(Buffer.from(text, 'latin1'))).toString('latin1');
    for (const word of secretWords) assert.ok(!text.includes(word) && !decoded.includes(word), word);
  });
});

describe('mail to ourselves', () => {
  it('AS-45: takes the way of all mail: sealed, sent by SMTP, opened, and answered by an MDN that comes back the same way', async () => {
    const { audit } = world.sandbox.world.hisp;
    const id = await sendTo(demoAddress);
    const status = await waitFor(
      () => readStatus(world.client, id),
      (answer) => answer.result[0]?.final === true,
    );
    assert.equal(status.result[0]?.status, 'processed');
    const wireId = `<${id.slice('urn:uuid:'.length)}@${demoAddress.split('@')[1]}>`;
    const findRows = async () => {
      await audit.flush();
      return (await audit.find({ limit: 1_000 })).filter(({ objects }) => objects['messageId'] === wireId);
    };
    // The MDN may arrive before the row that it was sent.
    const rows = await waitFor(findRows, (found) => found.some(({ action }) => action === 'mdn.sent'));
    assert.deepEqual(
      rows.map(({ action }) => action).toSorted(),
      [
        'mdn.processed',
        'mdn.receive',
        'mdn.sent',
        'message.accept',
        'message.receive',
        'message.sent',
      ].toSorted(),
    );
    // SEC-03: from the network, not from a call.
    assert.deepEqual(
      rows.filter(({ action }) => action.endsWith('.receive')).map(({ remoteAddress }) => remoteAddress),
      ['127.0.0.1', '127.0.0.1'],
    );
  });
});

describe('event notifications', () => {
  it('EVT-01: an ADT message with its context comes to the receiver byte for byte, under the type that the sender gave', async () => {
    // Segments end in CR alone (HL7 v2 §2.6), and names may be in any charset.
    const adt = Buffer.from(
      'MSH|^~\\&|ADT|CLINIC|||20261123||ADT^A03|1|P|2.5.1\rPID|1||42^^^&1.2.3&ISO||Do\xe9^Jane\rPV1|1|E\r',
      'latin1',
    );
    const context = 'version: 1.1\r\nid: <1@clinic.example>\r\ntype: general/notification\r\n';
    const sent = [
      ['application/hl7-v2', adt],
      ['application/hl7-v2; version="2.5.1"', adt],
      ['x-application/hl7-v2+er7', adt],
      ['text/plain', Buffer.from(context)],
      ['text/xml', Buffer.from('<ClinicalDocument xmlns="urn:hl7-org:v3"/>')],
    ] as const;
    const subject = 'Discharge';
    await sendTo(demoAddress, {
      messageSubject: subject,
      emailAttachmentList: sent.map(([attachmentClass, content]) => ({
        attachmentClass,
        attachmentContent: content.toString('base64'),
      })),
    });
    const { result } = await waitFor(
      () => world.client.get('/messaging/dirmsg/inbox?limit=100') as Promise<InboxAnswer>,
      (answer) => answer.result.some(({ attachmentCount }) => attachmentCount === sent.length),
    );
    const entry = result.find(({ attachmentCount }) => attachmentCount === sent.length);
    const received = (await world.client.get(`/messaging/dirmsg/inbox/${entry?.messageId}`)) as InboundAnswer;
    assert.equal(received.messageSubject, subject);
    assert.deepEqual(
      received.emailAttachmentList.map((one) => [one.attachmentClass, one.attachmentContent]),
      sent.map(([type, content]) => [type.replace(/;.*/, ''), content.toString('base64')]),
    );
  });
});

interface InboxAnswer {
  readonly result: readonly { readonly messageId: string; readonly attachmentCount: number }[];
}

interface InboundAnswer {
  readonly messageSubject: string;
  readonly emailAttachmentList: readonly {
    readonly attachmentClass: string;
    readonly attachmentContent: string;
  }[];
}

describe('accepted data', () => {
  it('TRUST-10: an MDN in clear text changes nothing, even if everything in it is right', async () => {
    const id = await sendTo(partners.expired);
    await waitFor(
      () => readStatus(world.client, id),
      (answer) => answer.result[0]?.status === 'sent',
    );
    const original = parseEntity((await lastMailTo(partners.expired))?.message ?? Buffer.alloc(0)).header(
      'message-id',
    );
    const mdn = buildMdn({
      disposition: 'processed',
      finalRecipient: partners.expired,
      originalSender: demoAddress,
      originalMessageId: original,
      reportingUa: { host: 'forger.example', product: 'forged' },
      date: new Date(),
      messageId: '<forged@forger.example>',
    });
    const outcome = await sendMail({
      host: '127.0.0.2',
      port: world.sandbox.world.smtpPort,
      hostname: 'forger.example',
      mailFrom: partners.expired,
      recipients: [demoAddress],
      message: mdn,
      timeoutMs: 10_000,
    });
    // A message that is not encrypted is refused by its header (AS-71).
    assert.deepEqual(outcome.accepted, []);
    assert.deepEqual(
      outcome.rejected.map(({ code, enhancedCode }) => [code, enhancedCode]),
      [[554, '5.6.1']],
    );
    const status = await waitFor(
      () => readStatus(world.client, id),
      (answer) => answer.result[0]?.final === true,
      90,
    );
    assert.equal(status.result[0]?.status, 'expired');
  });
});

describe('requests and answers of a client', () => {
  it('ASM-01, ASM-02: asmEnabled is accepted and echoed, needs nothing else, and changes nothing', async () => {
    for (const asmEnabled of [true, false, undefined]) {
      const id = await sendTo(partners.processed, asmEnabled === undefined ? {} : { asmEnabled });
      const status = await waitFor(
        () => readStatus(world.client, id),
        (answer) => answer.result[0]?.final === true,
      );
      assert.equal(status.result[0]?.status, 'processed');
      assert.equal((status as unknown as { asmEnabled: boolean }).asmEnabled, asmEnabled ?? false);
    }
  });

  it('HOOK-02: a webhook has ids, addresses, status, reason and time, only in its body', async () => {
    await world.client.post('/messaging/webhooks', {
      url: `${world.sandbox.world.side.baseUrl}/webhook?standards`,
    });
    const id = await sendTo(partners.processed);
    const calls = await waitFor(
      () => world.sandbox.world.side.received().filter((call) => JSON.stringify(call.body).includes(id)),
      (list) => list.some((call) => JSON.stringify(call.body).includes('message.processed')),
    );
    const allowed = new Set([
      'eventId',
      'eventType',
      'eventTime',
      'messageId',
      'fromDirectAddress',
      'toDirectAddress',
      'status',
      'statusCode',
      'statusText',
      'attempt',
    ]);
    for (const call of calls) {
      assert.deepEqual(
        Object.keys(call.body as object).filter((name) => !allowed.has(name)),
        [],
      );
      for (const word of secretWords) assert.ok(!JSON.stringify(call).includes(word), word);
    }
  });
});
