/** The sentences and fields of the Direct Messaging specification, each as a test over real HTTP. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { collectParts, parseEntity, type MimeEntity } from '../../src/lib/mime/index.ts';
import { readXdm, type XdmPackage } from '../../src/lib/xdm/index.ts';
import { startTestHttp, type TestHttp } from '../messaging/start-http.ts';
import { alice, base64, bob, carol, newUrn, sendBody, waitUntil } from '../messaging/start-messaging.ts';

let world: TestHttp;
before(async () => {
  world = await startTestHttp();
});
after(() => world.close());
beforeEach(() => world.deliveries.splice(0));

const path = '/messaging/dirmsg/send_ccda';
const send = (changes: Record<string, unknown> = {}) => world.call('POST', path, { body: sendBody(changes) });
const document = (content = '<ClinicalDocument/>') => ({
  attachmentClass: 'text/xml',
  attachmentContent: base64(content),
});

/** The message as it was passed to the security and trust agent. */
async function composed(changes: Record<string, unknown> = {}): Promise<MimeEntity> {
  const reply = await send(changes);
  assert.equal(reply.status, 200, reply.text);
  return parseEntity(world.deliveries.at(-1)?.message ?? new Uint8Array());
}

/** The XDM package of a message with one document. */
async function packed(
  changes: Record<string, unknown> = {},
): Promise<{ files: XdmPackage; zip: Buffer; text: string }> {
  const message = await composed({ xdm: true, emailAttachmentList: [document()], ...changes });
  const zip =
    collectParts(message)
      .find((part) => part.mediaType === 'application/zip')
      ?.content() ?? Buffer.alloc(0);
  const files = await readXdm(zip);
  return {
    files,
    zip,
    text: JSON.stringify(files, (_key, value: unknown) => (value instanceof Map ? [...value] : value)),
  };
}

describe('Messaging spec: What the service does', () => {
  test('Direct clients connect to a RESTful API to exchange encrypted Direct messages: accepted messages go to the agent, plain only in memory', async () => {
    assert.equal((await send()).status, 200);
    assert.equal(world.deliveries.at(-1)?.kind, 'message');
    const stored = await world.db.selectFrom('message').selectAll().execute();
    assert.ok(
      !JSON.stringify(stored.map((row) => Buffer.from(row.sealed_details ?? []).toString('latin1'))).includes(
        'Hello',
      ),
    );
  });

  test('Delivery is confirmed with prompt notifications via MDNs', async () => {
    const { messageId } = (await send()).body as unknown as { messageId: string };
    await world.report({ deliveryId: world.deliveries.at(-1)?.deliveryId ?? '', outcome: 'sent' });
    const mdn = `From: ${bob}\nTo: ${alice}\nContent-Type: multipart/report; report-type=disposition-notification; boundary=b\n\n--b\nContent-Type: message/disposition-notification\n\nFinal-Recipient: rfc822;${bob}\nOriginal-Message-ID: <${messageId.slice(9)}@direct.alpha.example>\nDisposition: automatic-action/MDN-sent-automatically;processed\n--b--\n`;
    await world.receive({ from: bob, to: [alice], inner: mdn });
    const status = await world.call('GET', `/messaging/dirmsg/status/${messageId}`);
    assert.equal((status.body as unknown as { messageStatus: string }).messageStatus, 'processed');
  });

  test('A client can POST a properly formatted Direct message to send it', async () => {
    const reply = await send();
    assert.equal(reply.status, 200);
    assert.equal(world.deliveries.length, 1);
  });

  test('A client can receive a RESTful POST from the service carrying a disposition status notification', async () => {
    const bodies: Record<string, unknown>[] = [];
    const target = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        if (request.method === 'POST') bodies.push(JSON.parse(text) as Record<string, unknown>);
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((ready) => target.listen(0, '127.0.0.1', ready));
    try {
      const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
      assert.equal((await world.call('POST', '/messaging/webhooks', { body: { url } })).status, 201);
      const { messageId } = (await send()).body as unknown as { messageId: string };
      await world.report({
        deliveryId: world.deliveries.at(-1)?.deliveryId ?? '',
        outcome: 'failed',
        reason: 'untrusted',
      });
      await waitUntil(() => bodies.length === 1);
      assert.deepEqual(
        [
          bodies[0]?.['eventType'],
          bodies[0]?.['messageId'],
          bodies[0]?.['toDirectAddress'],
          bodies[0]?.['statusCode'],
        ],
        ['message.failed', messageId, bob, '5.7.11'],
      );
    } finally {
      target.close();
    }
  });

  test('A client can send non-CCDA payloads, provided they are base64-encoded and the attachment class carries the correct media type', async () => {
    const pdf = Buffer.from('%PDF-1.7\n\u0000\u00ff', 'latin1');
    const message = await composed({
      emailAttachmentList: [
        { attachmentClass: 'application/pdf', attachmentContent: pdf.toString('base64') },
      ],
    });
    const part = collectParts(message).at(-1);
    assert.equal(part?.mediaType, 'application/pdf');
    assert.ok(pdf.equals(part?.content() ?? Buffer.alloc(0)));
    assert.equal(
      (
        await send({
          emailAttachmentList: [{ attachmentClass: 'application/pdf', attachmentContent: 'not base64!' }],
        })
      ).status,
      400,
    );
    assert.equal(
      (
        await send({
          emailAttachmentList: [{ attachmentClass: 'image/png', attachmentContent: pdf.toString('base64') }],
        })
      ).status,
      400,
    );
  });

  test('A client can receive payloads other than CCDA', async () => {
    const inner = `From: ${bob}\nTo: ${alice}\nMessage-ID: <pdf@direct.beta.example>\nContent-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\n${base64('%PDF-1.7')}\n`;
    await world.receive({ from: bob, to: [alice], inner });
    const { result: messages } = (await world.call('GET', '/messaging/dirmsg/inbox')).body as unknown as {
      result: { messageId: string }[];
    };
    const id = messages.at(-1)?.messageId ?? '';
    const payload = (await world.call('GET', `/messaging/dirmsg/inbox/${id}`)).body as unknown as {
      emailAttachmentList: { attachmentClass: string; attachmentContent: string }[];
    };
    assert.deepEqual(
      payload.emailAttachmentList.map(({ attachmentClass, attachmentContent }) => [
        attachmentClass,
        attachmentContent,
      ]),
      [['application/pdf', base64('%PDF-1.7')]],
    );
  });

  test('A client can send a message with multiple recipients', async () => {
    const reply = await send({ toDirectAddress: [bob, carol] });
    assert.equal(reply.status, 200);
    assert.deepEqual(world.deliveries.at(-1)?.recipients, [bob, carol]);
  });

  test('A client can request inbound Direct messages as XDM attachments or as non-XDM attachments', async () => {
    const inner = `From: ${bob}\nTo: ${alice}\nMessage-ID: <xdm@direct.beta.example>\nContent-Type: text/xml; name=a.xml\nContent-Disposition: attachment\n\n<a/>`;
    await world.receive({ from: bob, to: [alice], inner });
    const { result: messages } = (await world.call('GET', '/messaging/dirmsg/inbox?limit=100'))
      .body as unknown as { result: { messageId: string }[] };
    const types = async (xdm: boolean) => {
      const { body } = await world.call(
        'GET',
        `/messaging/dirmsg/inbox/${messages.at(-1)?.messageId}?xdm=${xdm}`,
      );
      return (
        body as unknown as { emailAttachmentList: { attachmentClass: string }[] }
      ).emailAttachmentList.map((entry) => entry.attachmentClass);
    };
    assert.deepEqual(await types(true), ['application/zip']);
    assert.deepEqual(await types(false), ['text/xml']);
  });

  test('The API is labelled version 2.1 and uses JSON', async () => {
    const reply = await send();
    assert.match(reply.headers.get('content-type') ?? '', /^application\/json/);
    const { paths } = (await world.call('GET', '/openapi.json')).body as unknown as {
      paths: Record<string, { post?: { description: string } }>;
    };
    assert.match(paths[path]?.post?.description ?? '', /version 2\.1/);
  });
});

describe('Messaging spec: Outbound message', () => {
  test('fromDirectAddress: string, sender Direct address', async () => {
    assert.equal((await composed()).header('from'), alice);
    assert.deepEqual(world.faults(await send({ fromDirectAddress: 5 })), ['fromDirectAddress invalid']);
  });

  test('toDirectAddress: string, recipient Direct address', async () => {
    assert.equal((await composed()).header('to'), bob);
    assert.deepEqual(world.faults(await send({ toDirectAddress: 'bob' })), ['toDirectAddress invalid']);
  });

  test('emailAttachmentList: array of attachment objects', async () => {
    const parts = collectParts(await composed({ emailAttachmentList: [document('<a/>'), document('<b/>')] }));
    assert.deepEqual(
      parts.slice(1).map((part) => part.content().toString()),
      ['<a/>', '<b/>'],
    );
    assert.deepEqual(world.faults(await send({ emailAttachmentList: {} })), ['emailAttachmentList invalid']);
    assert.deepEqual(world.faults(await send({ emailAttachmentList: ['x'] })), [
      'emailAttachmentList[0] invalid',
    ]);
  });

  test('messageBody: string, text body', async () => {
    assert.equal(
      collectParts(await composed({ messageBody: 'Zeile 1\nÄ' }))[0]
        ?.text()
        .trimEnd(),
      'Zeile 1\r\nÄ',
    );
  });

  test('messageId: string, message identifier, shape urn:uuid:<uuid>', async () => {
    const messageId = newUrn();
    assert.equal(
      (await composed({ messageId })).header('message-id'),
      `<${messageId.slice(9)}@direct.alpha.example>`,
    );
    for (const bad of ['x', '6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11', 'urn:uuid:6f1c2c5e', 7])
      assert.deepEqual(world.faults(await send({ messageId: bad })), ['messageId invalid']);
  });

  test('messageSubject: string, subject', async () => {
    assert.equal((await composed({ messageSubject: 'Referral' })).header('subject'), 'Referral');
  });

  const addressFields: [string, string][] = [
    ['patientAddressStreet1', '123 Main Street'],
    ['patientAddressStreet2', 'Apt 4'],
    ['patientAddressCity', 'Springfield'],
    ['patientAddressState', 'MA'],
    ['patientAddressZip', '01103'],
  ];
  for (const [field, value] of addressFields) {
    test(`${field}: string, in PID-11 of the XDM metadata`, async () => {
      const { text } = await packed({ [field]: value });
      assert.match(text, new RegExp(`PID-11\\|[^"]*${value}`));
    });
  }

  const patientFields: [string, string, RegExp][] = [
    ['patientDOB', '19700102', /PID-7\|19700102/],
    ['patientGender', 'F', /PID-8\|F/],
    ['patientLastname', 'Doe', /PID-5\|Doe/],
    ['patientFirstname', 'Jane', /PID-5\|\^Jane/],
    ['patientMiddlename', 'Q', /PID-5\|\^\^Q/],
  ];
  for (const [field, value, pattern] of patientFields) {
    test(`${field}: string, in the XDM metadata`, async () => {
      assert.match((await packed({ [field]: value })).text, pattern);
    });
  }

  test('patientDOB: shape YYYYMMDD', async () => {
    for (const bad of ['1970-01-02', '19700230', '20991231', 19700102])
      assert.deepEqual(world.faults(await send({ patientDOB: bad })), ['patientDOB invalid'], String(bad));
  });

  test('patientGender: one-letter code', async () => {
    assert.deepEqual(world.faults(await send({ patientGender: 'female' })), ['patientGender invalid']);
  });

  test('patientId and assigning_authority: identifier and dotted OID, as source patient id of the XDM metadata', async () => {
    assert.match(
      (await packed({ patientId: 'X-1', assigning_authority: '1.2.3.4' })).text,
      /X-1\^\^\^&1\.2\.3\.4&ISO/,
    );
    assert.deepEqual(world.faults(await send({ patientId: 'X-1', assigning_authority: 'hospital' })), [
      'assigning_authority invalid',
    ]);
  });

  test('patientIdType: dotted-OID string naming the identifier type; kept with the message, not on the wire', async () => {
    const { text } = await packed({ patientIdType: '2.16.840.1.113883.4.99' });
    assert.ok(!text.includes('2.16.840.1.113883.4.99'));
    assert.deepEqual(world.faults(await send({ patientIdType: 'SSN' })), ['patientIdType invalid']);
  });

  test('patient_summary: multi-line text; appended to the text, or inside the package, never in a header', async () => {
    const summary = 'Jane Q Doe\n123 Main Street\nF, 1970-01-02';
    const message = await composed({ patient_summary: summary });
    assert.match(
      collectParts(message)[0]?.text() ?? '',
      /Hello\r\n\r\nJane Q Doe\r\n123 Main Street\r\nF, 1970-01-02/,
    );
    assert.ok(!message.headerFields.some(({ value }) => value.includes('Jane')));
    const wrapped = await composed({
      patient_summary: summary,
      xdm: true,
      emailAttachmentList: [document()],
    });
    assert.ok(!(collectParts(wrapped)[0]?.text() ?? '').includes('Jane'));
  });

  test('xdm: boolean, XDM packaging flag', async () => {
    const parts = async (xdm: boolean) =>
      collectParts(await composed({ xdm, emailAttachmentList: [document()] })).map((part) => part.mediaType);
    assert.deepEqual(await parts(true), ['text/plain', 'application/zip']);
    assert.deepEqual(await parts(false), ['text/plain', 'text/xml']);
    for (const bad of ['true', 1]) assert.deepEqual(world.faults(await send({ xdm: bad })), ['xdm invalid']);
  });

  test('asmEnabled: boolean, flag with the name shown; accepted and echoed by status', async () => {
    const { messageId } = (await send({ asmEnabled: true })).body as unknown as { messageId: string };
    assert.equal(
      (
        (await world.call('GET', `/messaging/dirmsg/status/${messageId}`)).body as unknown as {
          asmEnabled: boolean;
        }
      ).asmEnabled,
      true,
    );
    assert.deepEqual(world.faults(await send({ asmEnabled: 'yes' })), ['asmEnabled invalid']);
  });

  test('loincName and loincValue: document type name and code, as type code of the XDM metadata', async () => {
    const { files } = await packed({ loincValue: '34133-9', loincName: 'Summarization of Episode Note' });
    assert.deepEqual(
      [
        files.documents[0]?.typeCode?.code,
        files.documents[0]?.typeCode?.codingScheme,
        files.documents[0]?.typeCode?.displayName,
      ],
      ['34133-9', '2.16.840.1.113883.6.1', 'Summarization of Episode Note'],
    );
    assert.deepEqual(world.faults(await send({ loincValue: 'summary' })), ['loincValue invalid']);
  });

  test('authorPerson: string, author', async () => {
    assert.match((await packed({ authorPerson: '1234567893^Smith^Alice' })).text, /1234567893\^Smith\^Alice/);
    assert.match((await packed({ authorPerson: 'Smith' })).text, /\^Smith/);
  });

  test('authorInstitution: caret-delimited institution value ending in a dotted OID', async () => {
    assert.match(
      (await packed({ authorInstitution: 'Example Clinic^^^^^^^^^1.2.3' })).text,
      /Example Clinic\^\^\^\^\^\^\^\^\^1\.2\.3/,
    );
    assert.deepEqual(world.faults(await send({ authorInstitution: 'Example Clinic' })), [
      'authorInstitution invalid',
    ]);
  });

  test('attachmentClass: string, media type', async () => {
    assert.equal(
      collectParts(await composed({ emailAttachmentList: [document()] })).at(-1)?.mediaType,
      'text/xml',
    );
    assert.deepEqual(
      world.faults(await send({ emailAttachmentList: [{ ...document(), attachmentClass: 'xml' }] })),
      ['emailAttachmentList[0].attachmentClass invalid'],
    );
  });

  test('attachmentContent: string, base64-encoded content, carried byte for byte', async () => {
    const bytes = Buffer.from(Array.from({ length: 1024 }, (_, index) => index % 256));
    const message = await composed({
      emailAttachmentList: [
        { attachmentClass: 'application/octet-stream', attachmentContent: bytes.toString('base64') },
      ],
    });
    assert.ok(bytes.equals(collectParts(message).at(-1)?.content() ?? Buffer.alloc(0)));
  });

  test('attachmentTitle and attachmentFileName: strings', async () => {
    const part = collectParts(
      await composed({
        emailAttachmentList: [
          { ...document(), attachmentTitle: 'Überweisung', attachmentFileName: 'bericht ä.xml' },
        ],
      }),
    ).at(-1);
    assert.deepEqual([part?.title, part?.fileName], ['Überweisung', 'bericht ä.xml']);
  });
});

describe('Messaging spec: Endpoints', () => {
  test('POST {base_url}/messaging/dirmsg/send_ccda, and no other method', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH'])
      assert.ok([404, 405].includes((await world.call(method, path)).status), method);
  });

  test('Headers: Authorization: Bearer and JSON content', async () => {
    assert.equal((await world.call('POST', path, { body: sendBody(), token: null })).status, 401);
    assert.equal(
      (
        await world.call('POST', path, {
          body: 'a=b',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        })
      ).status,
      415,
    );
    assert.equal(
      (await world.call('POST', path, { body: '{', headers: { 'content-type': 'application/json' } })).status,
      400,
    );
    assert.equal(
      (await world.call('POST', path, { body: '', headers: { 'content-type': 'application/json' } })).status,
      400,
    );
    assert.equal(
      (
        await world.call('POST', path, {
          body: JSON.stringify(sendBody()),
          headers: { 'content-type': 'application/json; charset=utf-8' },
        })
      ).status,
      200,
    );
  });

  test('Request body: the outbound message object', async () => {
    for (const body of [[], 3, null, [sendBody()]])
      assert.equal((await world.call('POST', path, { body })).status, 400);
  });
});

describe('Messaging spec: Authentication', () => {
  const token = (parameters: Record<string, string>, credentials = 'clinic:clinic-secret-0123456789') =>
    fetch(`${world.baseUrl}/oauth2/direct/v1/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${base64(credentials)}` },
      body: new URLSearchParams(parameters),
    });
  const grant = { grant_type: 'client_credentials', scope: 'messaging.api' };

  test('Token request: client_credentials with scope messaging.api, answered by Bearer, 3600 seconds, the token and the scope', async () => {
    const body = (await (await token(grant)).json()) as Record<string, unknown>;
    assert.deepEqual(
      [body['token_type'], body['expires_in'], body['scope'], typeof body['access_token']],
      ['Bearer', 3600, 'messaging.api', 'string'],
    );
  });

  test('Clients hold a client_id and a client_secret: a wrong secret gives no token', async () => {
    assert.equal((await token(grant, 'clinic:wrong')).status, 401);
  });

  test('Every request carries the header Authorization: Bearer; the token is valid for 60 minutes after creation', async () => {
    const { access_token: own } = (await (await token(grant)).json()) as { access_token: string };
    const calls: [string, string][] = [
      ['POST', path],
      ['GET', `/messaging/dirmsg/status/${newUrn()}`],
      ['POST', '/messaging/dirmsg/status'],
      ['GET', '/messaging/dirmsg/inbox'],
      ['GET', `/messaging/dirmsg/inbox/${newUrn()}`],
      ['GET', `/messaging/dirmsg/inbox/${newUrn()}/attachments/0`],
      ['POST', `/messaging/dirmsg/inbox/${newUrn()}/ack`],
      ['POST', '/messaging/dirmsg/validate'],
      ['GET', '/messaging/webhooks'],
      ['POST', '/messaging/webhooks'],
    ];
    for (const [method, address] of calls) {
      const reply = await world.call(method, address, { token: null });
      assert.equal(reply.status, 401, address);
      assert.match(reply.headers.get('www-authenticate') ?? '', /^Bearer/);
    }
    assert.equal((await world.call('GET', '/messaging/dirmsg/inbox', { token: own })).status, 200);
    world.clock.advance(3_599_000);
    assert.equal((await world.call('GET', '/messaging/dirmsg/inbox', { token: own })).status, 200);
    world.clock.advance(1000);
    assert.equal((await world.call('GET', '/messaging/dirmsg/inbox', { token: own })).status, 401);
    world.clock.advance(-3_600_000);
  });

  test('the scope of the directory does not open messaging', async () => {
    await world.oauth.clients.create({
      clientId: 'searcher',
      clientSecret: 'searcher-secret-0123456789',
      name: 's',
      scopes: ['provider-directory'],
    });
    const answer = (await (
      await token({ ...grant, scope: 'provider-directory' }, 'searcher:searcher-secret-0123456789')
    ).json()) as { access_token: string };
    const reply = await world.call('POST', path, { body: sendBody(), token: answer.access_token });
    assert.equal(reply.status, 403);
    assert.match(reply.headers.get('www-authenticate') ?? '', /insufficient_scope/);
  });
});

describe('Messaging spec: Errors, Limits, Versioning (not shown there; Decisions 0005, 0009, 0010)', () => {
  test('every refusal has the one envelope, naming each field, and the request id', async () => {
    const reply = await world.call('POST', path, {
      body: sendBody({ patientDOB: 'x', typo: 1 }),
      headers: { 'x-request-id': 'edge-42' },
    });
    assert.equal(reply.status, 400);
    const body = reply.body as unknown as Record<string, unknown>;
    assert.deepEqual(
      [body['status'], body['code'], body['message'], body['requestId'], reply.headers.get('x-request-id')],
      ['Error', 400, 'Required Params Missing', 'edge-42', 'edge-42'],
    );
    assert.deepEqual(world.faults(reply).toSorted(), ['patientDOB invalid', 'typo unknown']);
  });

  test('the path has no version segment', async () => {
    assert.equal(
      (await world.call('POST', '/messaging/v2/dirmsg/send_ccda', { body: sendBody() })).status,
      404,
    );
  });
});
