import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { collectParts, parseEntity } from '../../../lib/mime/index.ts';
import { isXdm, readXdm } from '../../../lib/xdm/index.ts';
import {
  alice,
  base64,
  bob,
  carol,
  newUrn,
  sendBody,
  startTestMessaging,
  type TestMessaging,
} from '../../../../test/messaging/start-messaging.ts';
import { MessagingError } from '../errors.ts';
import type { MessagingTables } from '../tables.ts';
import { hashRequest } from '../request/hash-request.ts';

let world: TestMessaging;
before(async () => {
  world = await startTestMessaging({ isStarted: false });
});
after(() => world.close());
beforeEach(() => world.deliveries.splice(0));

interface Answer {
  status: string;
  messageId: string;
  result: { toDirectAddress: string; status: string; statusTime: string }[];
  warnings?: { field: string }[];
}

async function send(changes: Record<string, unknown> = {}): Promise<Answer> {
  const { json } = await world.messaging.send(world.clinic, sendBody(changes), {});
  return JSON.parse(json) as Answer;
}

async function refusal(changes: Record<string, unknown>, client = world.clinic): Promise<MessagingError> {
  let found: unknown;
  await world.messaging.send(client, sendBody(changes), {}).catch((error: unknown) => (found = error));
  assert.ok(found instanceof MessagingError, 'the send must be refused');
  return found;
}

const findRow = ({ messageId }: Readonly<Record<string, unknown>>) =>
  world.storage
    .tables<MessagingTables>()
    .selectFrom('message')
    .select(['id', 'request_hash'])
    .where('uuid', '=', String(messageId).replace('urn:uuid:', ''))
    .executeTakeFirstOrThrow();

async function faults(changes: Record<string, unknown>): Promise<string[]> {
  const error = await refusal(changes);
  assert.equal(error.code, 'MESSAGING_REQUEST_INVALID');
  return error.problems.map(({ field, reason }) => `${field} ${reason}`);
}

const xml = (text = '<a/>') => ({ attachmentClass: 'text/xml', attachmentContent: base64(text) });
const lastMessage = () => parseEntity(world.deliveries.at(-1)?.message ?? new Uint8Array());

describe('Decision 0009: required fields', () => {
  it('reports all faults of a request at once, each naming its field', async () => {
    const found = await faults({
      fromDirectAddress: undefined,
      toDirectAddress: 'bob',
      messageId: '42',
      patientDOB: '20240230',
      patientGender: 'X',
      assigning_authority: '1.2.3',
      xdm: 'true',
      emailAttachmentList: [xml(), { attachmentClass: 'text', attachmentContent: '***' }],
      patientDoB: '20200101',
    });
    assert.deepEqual(found.toSorted(), [
      'emailAttachmentList[1].attachmentClass invalid',
      'emailAttachmentList[1].attachmentContent invalid',
      'fromDirectAddress required',
      'messageId invalid',
      'patientDOB invalid',
      'patientDoB unknown',
      'patientGender invalid',
      'patientId required',
      'toDirectAddress invalid',
      'xdm invalid',
    ]);
  });

  it('needs a text or an attachment', async () => {
    assert.deepEqual(await faults({ messageBody: undefined }), ['messageBody required']);
    assert.deepEqual(await faults({ messageBody: ' \n ' }), ['messageBody required']);
    assert.equal((await send({ messageBody: undefined, emailAttachmentList: [xml()] })).status, 'OK');
  });

  it('refuses a body that is no object', async () => {
    for (const body of [undefined, null, [], 'text', 3]) {
      await assert.rejects(
        world.messaging.send(world.clinic, body, {}),
        (error) => error instanceof MessagingError && error.problems[0]?.field === 'body',
      );
    }
  });

  it('refuses unknown fields, in the message and in an attachment', async () => {
    assert.deepEqual(await faults({ messageText: 'x' }), ['messageText unknown']);
    assert.deepEqual(await faults({ emailAttachmentList: [{ ...xml(), title: 'x' }] }), [
      'emailAttachmentList[0].title unknown',
    ]);
  });

  it('takes empty and null optional fields as absent', async () => {
    const empty = Object.fromEntries(
      [
        'messageSubject',
        'patientDOB',
        'patientGender',
        'patientAddressState',
        'loincValue',
        'authorInstitution',
        'messageId',
      ].map((name) => [name, '']),
    );
    assert.equal((await send(empty)).status, 'OK');
    assert.equal((await send({ patientDOB: null, xdm: null, emailAttachmentList: null })).status, 'OK');
  });
});

describe('Decision 0009: recipients', () => {
  const forms: [unknown, string[]][] = [
    [`${bob}`, [bob]],
    [`${bob}, ${carol}`, [bob, carol]],
    [`${bob};${carol};`, [bob, carol]],
    [
      [bob, carol],
      [bob, carol],
    ],
    [` ${bob} , BOB@direct.beta.example`, [bob]],
    ['"a,b"@direct.beta.example', ['"a,b"@direct.beta.example']],
  ];
  for (const [value, addresses] of forms) {
    it(`takes ${JSON.stringify(value)}`, async () => {
      const { result } = await send({ toDirectAddress: value });
      assert.deepEqual(
        result.map((entry) => entry.toDirectAddress),
        addresses,
      );
      assert.deepEqual(world.deliveries.at(-1)?.recipients, addresses);
    });
  }

  it('names the faulty entry', async () => {
    assert.deepEqual(await faults({ toDirectAddress: [bob, 'x', 7] }), [
      'toDirectAddress[1] invalid',
      'toDirectAddress[2] invalid',
    ]);
    for (const value of ['', undefined, null])
      assert.deepEqual(await faults({ toDirectAddress: value }), ['toDirectAddress required']);
    for (const value of [';', {}, 5, 'bob@direct.beta.example\r\nBcc: x@y.example'])
      assert.deepEqual(await faults({ toDirectAddress: value }), ['toDirectAddress invalid']);
    assert.deepEqual(await faults({ toDirectAddress: [] }), ['toDirectAddress required']);
  });

  it('takes 50 and refuses 51', async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => `r${index}@direct.beta.example`);
    assert.equal((await send({ toDirectAddress: many(50) })).result.length, 50);
    assert.deepEqual(await faults({ toDirectAddress: many(51) }), ['toDirectAddress too_many']);
  });
});

describe('Decision 0009: the sender belongs to the caller', () => {
  it('refuses an address of another client', async () => {
    const error = await refusal({}, world.otherClient);
    assert.equal(error.code, 'MESSAGING_SENDER_NOT_OWNED');
    assert.equal(error.kind, 'forbidden');
    assert.equal(world.deliveries.length, 0);
  });
  it('refuses an owned address that is disabled or not hosted', async () => {
    for (const from of ['gone@direct.alpha.example', 'nobody@direct.alpha.example'])
      assert.equal((await refusal({ fromDirectAddress: from })).code, 'MESSAGING_SENDER_NOT_HOSTED');
  });
  it('compares without case', async () => {
    assert.equal((await send({ fromDirectAddress: 'ALICE@Direct.Alpha.Example' })).status, 'OK');
  });
});

describe('Decision 0009: idempotency', () => {
  it('the same id with the same body answers byte for byte the same and sends nothing', async () => {
    const body = sendBody({ messageId: newUrn(), emailAttachmentList: [xml()] });
    const first = await world.messaging.send(world.clinic, body, {});
    world.clock.advance(1000);
    const reordered = Object.fromEntries(Object.entries(body).toReversed());
    const second = await world.messaging.send(world.clinic, reordered, {});
    assert.deepEqual([second.json, first.isReplay, second.isReplay], [first.json, false, true]);
    assert.equal(world.deliveries.length, 1);
  });
  it('SEC-05: the stored hash does not confirm a guess of the body', async () => {
    const body = sendBody({ messageId: newUrn(), patientLastname: 'Doe' });
    await world.messaging.send(world.clinic, body, {});
    const { request_hash: stored } = await findRow(body);
    assert.match(stored, /^[0-9a-f]{65,}$/);
    const guess = await hashRequest(world.clinic.clientId, body);
    assert.ok(!stored.includes(guess), 'who knows the body can find its hash');
  });
  it('the same id with another body is a conflict', async () => {
    const messageId = newUrn();
    await send({ messageId });
    for (const changes of [
      { messageBody: 'other' },
      { toDirectAddress: carol },
      { emailAttachmentList: [xml()] },
      { xdm: false },
    ]) {
      const error = await refusal({ messageId, ...changes });
      assert.equal(error.code, 'MESSAGING_ID_REUSED');
      assert.equal(error.kind, 'conflict');
    }
    assert.equal(world.deliveries.length, 1);
  });
  it('a made-up id cannot be used again, not even with the same fields', async () => {
    const { messageId } = await send();
    assert.equal((await refusal({ messageId })).code, 'MESSAGING_ID_REUSED');
    assert.equal(world.deliveries.length, 1);
  });
  it('two equal requests at once make one message', async () => {
    const body = sendBody({ messageId: newUrn() });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => world.messaging.send(world.clinic, body, {})),
    );
    assert.equal(new Set(answers.map((answer) => answer.json)).size, 1);
    assert.equal(world.deliveries.length, 1);
  });
  it('an id without one is made up, and upper case is folded', async () => {
    assert.match((await send()).messageId, /^urn:uuid:[0-9a-f-]{36}$/);
    const messageId = newUrn();
    assert.equal(
      (await send({ messageId: messageId.toUpperCase().replace('URN:UUID', 'urn:uuid') })).messageId,
      messageId,
    );
  });
  it('another client of the same domain cannot take an id over', async () => {
    const messageId = newUrn();
    await send({ messageId });
    const error = await world.messaging
      .send(world.otherClient, sendBody({ messageId, fromDirectAddress: 'mallory@direct.alpha.example' }), {})
      .catch((reason: unknown) => reason);
    assert.ok(error instanceof MessagingError && error.code === 'MESSAGING_ID_REUSED');
  });
});

describe('Decision 0009: the answer', () => {
  it('is OK, the id and one entry a recipient, and everything is stored by then', async () => {
    const answer = await send({ toDirectAddress: [bob, carol] });
    assert.deepEqual(Object.keys(answer), ['status', 'messageId', 'result']);
    assert.deepEqual(
      answer.result,
      [bob, carol].map((toDirectAddress) => ({
        toDirectAddress,
        status: 'queued',
        statusTime: world.clock.now().toISOString(),
      })),
    );
    const report = await world.messaging.getStatus(world.clinic, answer.messageId);
    assert.deepEqual(
      report.recipients.map(({ address, state }) => [address, state]),
      [
        [bob, 'queued'],
        [carol, 'queued'],
      ],
    );
    assert.equal(world.deliveries.at(-1)?.kind, 'message');
  });
  it('is rolled back as a whole if the delivery cannot be stored', async () => {
    const messageId = newUrn();
    world.breakDelivery(new Error('disk full'));
    await assert.rejects(send({ messageId }), /disk full/);
    world.breakDelivery(undefined);
    await assert.rejects(
      world.messaging.getStatus(world.clinic, messageId),
      (error) => error instanceof MessagingError,
    );
    assert.equal((await send({ messageId })).status, 'OK');
  });
});

describe('Decision 0010: attachments', () => {
  it('M8: refuses base64 that is not strict, but accepts line breaks', async () => {
    const content = (attachmentContent: unknown) =>
      faults({ emailAttachmentList: [{ attachmentClass: 'application/octet-stream', attachmentContent }] });
    for (const bad of ['YQ', 'YQ=', 'Y Q = = =', 'YQ==YQ==', 'YR==', '-_==', '%%%%', 5, {}])
      assert.deepEqual(
        await content(bad),
        ['emailAttachmentList[0].attachmentContent invalid'],
        JSON.stringify(bad),
      );
    assert.deepEqual(await content(''), ['emailAttachmentList[0].attachmentContent empty']);
    assert.deepEqual(await content(undefined), ['emailAttachmentList[0].attachmentContent required']);
    assert.equal(
      (
        await send({
          emailAttachmentList: [{ attachmentClass: 'text/plain', attachmentContent: 'aGVs\r\nbG8=\n' }],
        })
      ).status,
      'OK',
    );
  });

  it('M7: refuses types that are no media types, composite types and executables', async () => {
    const type = async (attachmentClass: unknown) =>
      (await faults({ emailAttachmentList: [{ ...xml(), attachmentClass }] }))[0];
    for (const bad of ['text', 'text/', 'a b/c', 'text/xml\r\nX: y', 'multipart/mixed', 'message/rfc822', 4])
      assert.equal(await type(bad), 'emailAttachmentList[0].attachmentClass invalid', String(bad));
    for (const bad of [
      'application/x-msdownload',
      'APPLICATION/JAVASCRIPT',
      'application/x-sh; charset=utf-8',
    ])
      assert.equal(await type(bad), 'emailAttachmentList[0].attachmentClass not_allowed', bad);
    assert.equal(await type(''), 'emailAttachmentList[0].attachmentClass required');
  });

  it('refuses content that contradicts its type, for the common types', async () => {
    const types = [
      'application/pdf',
      'image/png',
      'image/jpeg',
      'image/gif',
      'image/tiff',
      'application/zip',
      'text/xml',
      'application/xml',
      'application/fhir+xml',
      'application/json',
      'application/rtf',
    ];
    for (const attachmentClass of types) {
      const entry = { attachmentClass, attachmentContent: base64('\u0001nothing of the kind') };
      assert.deepEqual(
        await faults({ emailAttachmentList: [entry] }),
        ['emailAttachmentList[0].attachmentContent type_mismatch'],
        attachmentClass,
      );
    }
    const accepted: [string, string | Uint8Array][] = [
      ['application/pdf', '%PDF-1.7 x'],
      ['image/png', Buffer.from('89504e470d0a1a0a00', 'hex')],
      ['image/jpeg', Buffer.from('ffd8ffe0', 'hex')],
      ['text/xml', '\ufeff\n<?xml version="1.0"?><a/>'],
      ['application/xml', Buffer.from('\ufeff<a/>', 'utf16le')],
      ['application/json', ' {"a":1}'],
      ['application/hl7-v2', 'MSH|^~\\&|'],
      ['application/x-unheard-of', Buffer.from([0, 1, 2])],
    ];
    for (const [attachmentClass, content] of accepted)
      assert.equal(
        (await send({ emailAttachmentList: [{ attachmentClass, attachmentContent: base64(content) }] }))
          .status,
        'OK',
        attachmentClass,
      );
  });

  it('refuses programs by content and by file name', async () => {
    const program = Buffer.concat([Buffer.from('MZ'), Buffer.alloc(100)]);
    const entry = { attachmentClass: 'application/octet-stream', attachmentContent: base64(program) };
    assert.deepEqual(await faults({ emailAttachmentList: [entry] }), [
      'emailAttachmentList[0].attachmentContent not_allowed',
    ]);
    assert.deepEqual(
      await faults({ emailAttachmentList: [{ ...xml(), attachmentFileName: 'report.EXE' }] }),
      ['emailAttachmentList[0].attachmentFileName not_allowed'],
    );
  });

  it('no parameter of the media type names a file past the check of file names', async () => {
    const given = ['name=run.exe', "name*=utf-8''run.exe", 'name*0=run; name*1=.exe', 'NAME*0*="run.exe"'];
    for (const parameters of given) {
      const content = base64('text');
      const attachmentClass = `text/plain; charset=utf-8; ${parameters}`;
      await send({ emailAttachmentList: [{ attachmentClass, attachmentContent: content }] });
      const [, part] = collectParts(lastMessage());
      assert.deepEqual(
        [...(part?.entity.contentType.parameters ?? [])],
        [
          ['charset', 'utf-8'],
          ['name', 'attachment-1.txt'],
        ],
        parameters,
      );
      assert.ok(!Buffer.from(world.deliveries.at(-1)?.message ?? '').includes('exe'), parameters);
    }
  });

  it('derives a file name, and strips folders from a given one', async () => {
    await send({
      emailAttachmentList: [
        xml(),
        { ...xml(), attachmentFileName: 'C:\\records\\ccd é.xml', attachmentTitle: 'Übersicht' },
      ],
    });
    const [, first, second] = collectParts(lastMessage());
    assert.equal(first?.fileName, 'attachment-1.xml');
    assert.deepEqual([second?.fileName, second?.title], ['ccd é.xml', 'Übersicht']);
  });

  it('M16: refuses line breaks and NUL in subject, address, title and file name', async () => {
    for (const bad of ['a\rb', 'a\nb', 'a\r\nBcc: x@y.example', 'a\0b']) {
      assert.deepEqual(await faults({ messageSubject: bad }), ['messageSubject line_break']);
      assert.deepEqual(await faults({ emailAttachmentList: [{ ...xml(), attachmentTitle: bad }] }), [
        'emailAttachmentList[0].attachmentTitle line_break',
      ]);
      assert.deepEqual(await faults({ emailAttachmentList: [{ ...xml(), attachmentFileName: bad }] }), [
        'emailAttachmentList[0].attachmentFileName line_break',
      ]);
      assert.deepEqual(await faults({ patientLastname: bad }), ['patientLastname line_break']);
      for (const field of ['fromDirectAddress', 'toDirectAddress'])
        assert.equal((await faults({ [field]: `${bad}@direct.beta.example` })).length, 1, field);
    }
  });

  it('M15: 20 attachments, 255 characters of subject, and bytes up to the limit', async () => {
    assert.equal((await send({ emailAttachmentList: Array.from({ length: 20 }, () => xml()) })).status, 'OK');
    assert.deepEqual(await faults({ emailAttachmentList: Array.from({ length: 21 }, () => xml()) }), [
      'emailAttachmentList too_many',
    ]);
    assert.equal((await send({ messageSubject: 's'.repeat(255) })).status, 'OK');
    assert.deepEqual(await faults({ messageSubject: 's'.repeat(256) }), ['messageSubject too_long']);
  });
});

describe('Decision 0010: size', () => {
  it('the attachments together may reach the limit exactly; one byte more is too large', async () => {
    const small = await startTestMessaging({
      isStarted: false,
      settings: { maxAttachmentBytes: 1000 },
    });
    try {
      const part = (bytes: number) => ({
        attachmentClass: 'application/octet-stream',
        attachmentContent: Buffer.alloc(bytes, 7).toString('base64').replaceAll(/.{76}/g, '$&\r\n'),
      });
      const list = (...sizes: number[]) =>
        small.messaging.send(small.clinic, sendBody({ emailAttachmentList: sizes.map(part) }), {});
      await list(1000);
      await list(600, 400);
      for (const sizes of [[1001], [600, 401], [5000]]) {
        await assert.rejects(
          list(...sizes),
          (error) =>
            error instanceof MessagingError &&
            error.code === 'MESSAGING_TOO_LARGE' &&
            error.kind === 'too-large',
        );
      }
    } finally {
      await small.close();
    }
  });
});

describe('Decision 0010: patient and document fields', () => {
  const checks: [string, string[], string[]][] = [
    [
      'patientDOB',
      // It is noon in UTC, so that in Guam it is tomorrow.
      ['20240229', '19000101', '20261122'],
      ['20230229', '1970-01-01', '197011', '99990101', '20261123', '00000101', '19701301'],
    ],
    ['patientGender', ['M', 'f', 'O', 'U', 'A', 'N'], ['X', 'male', 'MF']],
    ['patientAddressState', ['MA', 'ma', 'PR'], ['XX', 'Massachusetts']],
    ['patientAddressZip', ['02139', '02139-4307', '021394307'], ['2139', '02139-', 'ABCDE']],
    ['patientIdType', ['2.16.840.1.113883.4.1'], ['MR', '1..2']],
    ['loincValue', ['34133-9', '11488-4'], ['34133', 'x-1', '34133-99']],
    ['authorInstitution', ['Clinic^^^^^^^^^1.2.3'], ['Clinic', 'Clinic^^x', '^^1.2.3']],
  ];
  for (const [field, good, bad] of checks) {
    it(field, async () => {
      for (const value of good) assert.equal((await send({ [field]: value })).status, 'OK', value);
      for (const value of bad)
        assert.deepEqual(await faults({ [field]: value }), [`${field} invalid`], value);
      assert.deepEqual(await faults({ [field]: 5 }), [`${field} invalid`]);
    });
  }
  it('patientId and assigning_authority come as a pair', async () => {
    assert.deepEqual(await faults({ patientId: '1' }), ['assigning_authority required']);
    assert.deepEqual(await faults({ assigning_authority: '1.2.3' }), ['patientId required']);
    assert.deepEqual(await faults({ patientId: 1, assigning_authority: '1.2.3' }), ['patientId invalid']);
    assert.deepEqual(await faults({ patientId: '1', assigning_authority: 1 }), [
      'assigning_authority invalid',
    ]);
    assert.equal((await send({ patientId: '1', assigning_authority: '1.2.3' })).status, 'OK');
  });
  it('META-09: a wrong LOINC check digit is a warning', async () => {
    assert.deepEqual(
      (await send({ loincValue: '34133-8' })).warnings?.map(({ field }) => field),
      ['loincValue'],
    );
    assert.equal((await send({ loincValue: '34133-9' })).warnings, undefined);
  });
});

describe('standards §4.3: the message on the wire', () => {
  it('has the sender, all recipients, the id at the sender domain, subject, text and parts', async () => {
    const { messageId } = await send({
      toDirectAddress: [bob, carol],
      messageSubject: 'Überweisung',
      messageBody: 'Guten Tag',
      patient_summary: 'Jane Doe\nF',
      emailAttachmentList: [{ ...xml('<ClinicalDocument/>'), attachmentFileName: 'ccd.xml' }],
    });
    const message = lastMessage();
    assert.equal(message.header('from'), alice);
    assert.equal(message.header('to'), `${bob}, ${carol}`);
    assert.equal(message.header('message-id'), `<${messageId.slice(9)}@direct.alpha.example>`);
    const [text, document] = collectParts(message);
    assert.equal(text?.text().trimEnd(), 'Guten Tag\r\n\r\nJane Doe\r\nF');
    assert.equal(document?.content().toString(), '<ClinicalDocument/>');
    assert.ok(!message.headerFields.some((field) => field.raw.toString().includes('Jane')));
  });

  it('M14, MDN-20: requests final delivery only if the client asks for it', async () => {
    await send();
    assert.equal(lastMessage().header('disposition-notification-options'), undefined);
    const { messageId } = await send({ requestFinalDelivery: true });
    assert.equal(
      lastMessage().header('disposition-notification-options'),
      'X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true',
    );
    assert.equal(lastMessage().header('disposition-notification-to'), alice);
    assert.equal((await world.messaging.getStatus(world.clinic, messageId)).requestsFinalDelivery, true);
    const byDefault = { ...world.clinic, requestFinalDelivery: true };
    await world.messaging.send(byDefault, sendBody(), {});
    assert.notEqual(lastMessage().header('disposition-notification-options'), undefined);
    await world.messaging.send(byDefault, sendBody({ requestFinalDelivery: false }), {});
    assert.equal(lastMessage().header('disposition-notification-options'), undefined);
  });

  it('M13: asmEnabled is stored and shown, and changes nothing on the wire', async () => {
    const { messageId } = await send({ asmEnabled: true });
    const report = await world.messaging.getStatus(world.clinic, messageId);
    assert.equal(report.isAsmEnabled, true);
    assert.ok(
      !Buffer.from(world.deliveries.at(-1)?.message ?? '')
        .toString()
        .toLowerCase()
        .includes('asm'),
    );
  });
});

describe('Decision 0011: XDM', () => {
  const patient = {
    patientLastname: 'Doe',
    patientFirstname: 'Jane',
    patientDOB: '19700101',
    patientGender: 'f',
    patientId: 'X1',
    assigning_authority: '1.2.3',
  };

  it('XDM-09: xdm=true packs all attachments into one package with the fields as metadata', async () => {
    const { warnings } = await send({
      ...patient,
      xdm: true,
      messageSubject: 'Referral',
      loincValue: '34133-9',
      loincName: 'Summary',
      authorPerson: 'Smith',
      emailAttachmentList: [{ ...xml(), attachmentTitle: 'One' }, xml('<b/>')],
    });
    assert.equal(warnings, undefined);
    const parts = collectParts(lastMessage());
    assert.equal(lastMessage().header('subject'), 'Referral XDM/1.0/DDM');
    assert.deepEqual(
      parts.map((part) => part.mediaType),
      ['text/plain', 'application/zip'],
    );
    const { documents } = await readXdm(parts[1]?.content() ?? new Uint8Array());
    assert.deepEqual(
      documents.map(({ content, typeCode }) => [content.toString(), typeCode?.code]),
      [
        ['<a/>', '34133-9'],
        ['<b/>', '34133-9'],
      ],
    );
  });

  it('a single attachment that already is a package is never wrapped again', async () => {
    await send({ ...patient, xdm: true, emailAttachmentList: [xml()] });
    const packed = collectParts(lastMessage())[1]?.content() ?? Buffer.alloc(0);
    await send({
      xdm: true,
      emailAttachmentList: [
        {
          attachmentClass: 'application/zip',
          attachmentContent: packed.toString('base64'),
          attachmentFileName: 'mine.zip',
        },
      ],
    });
    const again = collectParts(lastMessage())[1];
    assert.ok(isXdm(packed, 'application/zip'));
    assert.ok(again !== undefined && packed.equals(again.content()));
    assert.equal(lastMessage().header('subject'), 'XDM/1.0/DDM');
  });

  it('XDM-07: a package that the client made goes as application/zip with a name in .zip, its title and the summary kept', async () => {
    await send({ ...patient, xdm: true, emailAttachmentList: [xml()] });
    const packed = collectParts(lastMessage())[1]?.content() ?? Buffer.alloc(0);
    const names = { given: 'referral.ZIP', missing: undefined, foreign: 'referral.bin' };
    for (const [name, attachmentFileName] of Object.entries(names)) {
      const { messageId } = await send({
        xdm: true,
        patient_summary: 'Jane Doe\nF, 1970-01-01',
        messageBody: name === 'given' ? 'Please see the package.' : '',
        emailAttachmentList: [
          {
            attachmentClass: 'application/octet-stream',
            attachmentContent: packed.toString('base64'),
            attachmentTitle: 'Referral',
            attachmentFileName,
          },
        ],
      });
      const [text, part] = collectParts(lastMessage());
      assert.deepEqual(
        [part?.mediaType, part?.fileName, part?.title],
        [
          'application/zip',
          name === 'given' ? attachmentFileName : `${messageId.slice('urn:uuid:'.length)}-xdm.zip`,
          'Referral',
        ],
      );
      assert.ok(part !== undefined && packed.equals(part.content()));
      // There is no other place for it: the package is the client's.
      assert.match(text?.text() ?? '', /Jane Doe\r\nF, 1970-01-01/);
      assert.equal(text?.text().includes('Please see the package.'), name === 'given');
    }
  });

  it('META-10: needs a document, and warns of missing patient fields', async () => {
    assert.deepEqual(await faults({ xdm: true }), ['emailAttachmentList required']);
    const { warnings } = await send({ xdm: true, emailAttachmentList: [xml()] });
    assert.deepEqual(
      warnings?.map(({ field }) => field),
      ['patientLastname', 'patientFirstname', 'patientDOB', 'patientGender', 'patientId'],
    );
  });

  it('xdm=false sends loose parts and leaves the subject alone', async () => {
    await send({ messageSubject: 'Referral', emailAttachmentList: [xml()] });
    assert.equal(lastMessage().header('subject'), 'Referral');
    assert.deepEqual(
      collectParts(lastMessage()).map((part) => part.mediaType),
      ['text/plain', 'text/xml'],
    );
  });
});
