/** Questions that the Direct Messaging specification leaves open, as Decisions 0009 to 0014 settle them, over real HTTP. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { startTestHttp, type Reply, type TestHttp } from '../messaging/start-http.ts';
import { alice, anna, base64, bob, carol, mallory, newUrn, sendBody } from '../messaging/start-messaging.ts';

let world: TestHttp;
before(async () => {
  world = await startTestHttp();
});
after(() => world.close());
beforeEach(() => world.deliveries.splice(0));

const sendPath = '/messaging/dirmsg/send_ccda';
const inboxPath = '/messaging/dirmsg/inbox';
const send = (changes: Record<string, unknown> = {}) =>
  world.call('POST', sendPath, { body: sendBody(changes) });
const asObject = ({ body }: Reply) => body as unknown as Record<string, unknown>;
const asList = ({ body }: Reply) => (body as unknown as { result: Record<string, unknown>[] }).result;

describe('Decision 0009: send', () => {
  test('M1: fromDirectAddress, toDirectAddress and a text or an attachment are required, all else is optional', async () => {
    const reply = await world.call('POST', sendPath, { body: {} });
    assert.equal(reply.status, 400);
    assert.deepEqual(world.faults(reply).toSorted(), [
      'fromDirectAddress required',
      'messageBody required',
      'toDirectAddress required',
    ]);
    assert.equal(
      (
        await world.call('POST', sendPath, {
          body: { fromDirectAddress: alice, toDirectAddress: bob, messageBody: 'x' },
        })
      ).status,
      200,
    );
  });

  test('M1: the fields of a real client are enough: from, to, id and one attachment', async () => {
    const body = {
      fromDirectAddress: alice,
      toDirectAddress: bob,
      messageId: newUrn(),
      emailAttachmentList: [
        {
          attachmentClass: 'text/xml',
          attachmentContent: base64('<a/>'),
          attachmentTitle: '',
          attachmentFileName: '',
        },
      ],
    };
    assert.equal((await world.call('POST', sendPath, { body })).status, 200);
  });

  test('M2: the same id and body answer byte for byte the same and send nothing; another body is 409', async () => {
    const messageId = newUrn();
    const body = sendBody({ messageId });
    const first = await world.call('POST', sendPath, { body });
    const second = await world.call('POST', sendPath, { body });
    assert.deepEqual([first.status, second.status, second.text], [200, 200, first.text]);
    const upper = { ...body, messageId: messageId.toUpperCase() };
    const third = await world.call('POST', sendPath, { body: upper });
    assert.deepEqual([third.status, third.text], [200, first.text]);
    assert.equal(world.deliveries.length, 1);
    const other = await world.call('POST', sendPath, { body: { ...body, messageBody: 'other' } });
    assert.equal(other.status, 409);
    assert.deepEqual([asObject(other)['message'], world.faults(other)], ['Conflict', ['messageId reused']]);
  });

  test('M3: one address, a comma- or semicolon-separated list, or a JSON array; de-duplicated without case; at most 50', async () => {
    for (const to of [`${bob},${carol}`, `${bob} ; ${carol}`, [bob, carol, 'BOB@direct.beta.example']])
      assert.deepEqual(
        asList(await send({ toDirectAddress: to })).map((entry) => entry['toDirectAddress']),
        [bob, carol],
      );
    const many = Array.from({ length: 51 }, (_, index) => `r${index}@direct.beta.example`);
    assert.equal((await send({ toDirectAddress: many })).status, 400);
  });

  test('M4: a malformed address is 400 and nothing is sent; a refused recipient fails alone', async () => {
    assert.equal((await send({ toDirectAddress: [bob, 'not an address'] })).status, 400);
    assert.equal(world.deliveries.length, 0);
    const { messageId } = asObject(await send({ toDirectAddress: [bob, carol] }));
    const deliveryId = world.deliveries[0]?.deliveryId ?? '';
    await world.report({ deliveryId, recipient: bob, outcome: 'sent' });
    await world.report({ deliveryId, recipient: carol, outcome: 'failed', reason: 'no-certificate' });
    const report = await world.call('GET', `/messaging/dirmsg/status/${String(messageId)}`);
    assert.deepEqual(
      asList(report).map(({ status, reason, statusCode, final }) => [status, reason, statusCode, final]),
      [
        ['sent', '', '2.0.0', false],
        ['failed', 'no-certificate', '5.7.31', true],
      ],
    );
    assert.equal(asObject(report)['messageStatus'], 'sent');
  });

  test('M5: a sender that does not belong to the caller is 403', async () => {
    for (const fromDirectAddress of [
      mallory,
      bob,
      'nobody@direct.alpha.example',
      'gone@direct.alpha.example',
    ]) {
      const reply = await send({ fromDirectAddress });
      assert.deepEqual(
        [reply.status, asObject(reply)['message'], world.faults(reply)],
        [403, 'Forbidden', ['fromDirectAddress forbidden']],
        fromDirectAddress,
      );
    }
  });

  test('M6: success is 200 with status, messageId and one result a recipient', async () => {
    const reply = await send({ messageId: 'urn:uuid:6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11' });
    assert.equal(reply.status, 200);
    assert.deepEqual(asObject(reply), {
      status: 'OK',
      messageId: 'urn:uuid:6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11',
      result: [{ toDirectAddress: bob, status: 'queued', statusTime: world.clock.now().toISOString() }],
    });
  });

  test('bulk check: syntax, certificate, trust and listing of each address', async () => {
    const untrusted = {
      recipient: carol,
      reason: 'untrusted' as const,
      code: 'X',
      statusCode: '5.7.11',
      text: '',
      isTransient: false,
    };
    world.refusals.set(carol, untrusted);
    world.refusals.set('later@direct.beta.example', { ...untrusted, recipient: bob, isTransient: true });
    const body = {
      fromDirectAddress: alice,
      toDirectAddress: [bob, carol, 'x', 'nobody@direct.alpha.example', 'later@direct.beta.example'],
    };
    const checks = asList(await world.call('POST', '/messaging/dirmsg/validate', { body }));
    world.refusals.clear();
    assert.deepEqual(
      checks.map(({ directAddress, syntax, certificate, trusted, reason }) => [
        directAddress,
        syntax,
        certificate,
        trusted,
        reason,
      ]),
      [
        [bob, true, true, true, ''],
        [carol, true, true, false, 'untrusted'],
        ['x', false, null, null, 'invalid'],
        ['nobody@direct.alpha.example', true, null, null, 'unknown-recipient'],
        ['later@direct.beta.example', true, null, null, 'undecided'],
      ],
    );
    assert.equal(world.deliveries.length, 0);
    assert.equal(
      (
        await world.call('POST', '/messaging/dirmsg/validate', {
          body: { ...body, fromDirectAddress: mallory },
        })
      ).status,
      403,
    );
    // The same list as a send takes: quoted local parts, blanks, a separator at the end.
    const text = `"a,b;c"@direct.beta.example; ${bob} ,`;
    assert.deepEqual(
      asList(
        await world.call('POST', '/messaging/dirmsg/validate', {
          body: { fromDirectAddress: alice, toDirectAddress: text },
        }),
      ).map(({ directAddress, syntax }) => [directAddress, syntax]),
      [
        ['"a,b;c"@direct.beta.example', true],
        [bob, true],
      ],
    );
    assert.equal((await world.call('POST', '/messaging/dirmsg/validate', { body: {} })).status, 400);
    for (const [toDirectAddress, reason] of [
      [[], 'required'],
      [{ address: bob }, 'invalid'],
    ] as const) {
      const body = { fromDirectAddress: alice, toDirectAddress };
      const reply = await world.call('POST', '/messaging/dirmsg/validate', { body });
      assert.deepEqual(world.faults(reply), [`toDirectAddress ${reason}`]);
    }
    const many = { fromDirectAddress: alice, toDirectAddress: Array.from({ length: 101 }, () => bob) };
    assert.deepEqual(world.faults(await world.call('POST', '/messaging/dirmsg/validate', { body: many })), [
      'toDirectAddress too_many',
    ]);
  });
});

describe('Decision 0010: attachments and limits', () => {
  const attachment = (changes: Record<string, unknown> = {}) => ({
    emailAttachmentList: [{ attachmentClass: 'text/xml', attachmentContent: base64('<a/>'), ...changes }],
  });

  test('M15: 25 MB of attachments pass; more is 413', async () => {
    const limit = 25_000_000;
    const sized = (bytes: number) =>
      send(
        attachment({
          attachmentClass: 'application/octet-stream',
          attachmentContent: Buffer.alloc(bytes, 1).toString('base64'),
        }),
      );
    assert.equal((await sized(limit)).status, 200);
    const reply = await sized(limit + 1);
    assert.deepEqual(
      [reply.status, asObject(reply)['message'], world.faults(reply)],
      [413, 'Content Too Large', ['emailAttachmentList[0].attachmentContent too_large']],
    );
    world.deliveries.splice(0);
  });

  test('a refusal never repeats the faulty value', async () => {
    const reply = await send({
      patientDOB: 'born-in-Springfield',
      patientGender: 'Jane',
      toDirectAddress: 'Jane Doe',
      typo: 'MRN-4711',
    });
    assert.equal(reply.status, 400);
    for (const value of ['Springfield', 'Jane', 'MRN-4711']) assert.ok(!reply.text.includes(value), value);
  });
});

describe('Decision 0012: status', () => {
  test("another client's message is 404, and so is one that never was", async () => {
    const { messageId } = asObject(await send());
    assert.equal((await world.call('GET', `/messaging/dirmsg/status/${String(messageId)}`)).status, 200);
    for (const [id, token] of [
      [String(messageId), world.tokens.otherClient],
      [newUrn(), world.tokens.clinic],
      ['x', world.tokens.clinic],
    ] as const)
      assert.equal((await world.call('GET', `/messaging/dirmsg/status/${id}`, { token })).status, 404);
  });

  test('shows roll-up, recipients and history', async () => {
    const { messageId } = asObject(await send({ requestFinalDelivery: true }));
    await world.report({ deliveryId: world.deliveries[0]?.deliveryId ?? '', outcome: 'sent' });
    const at = world.clock.now().toISOString();
    const shown = asObject(
      await world.call('GET', `/messaging/dirmsg/status/${encodeURIComponent(String(messageId))}`),
    );
    const entry = (event: string, status: string) => ({
      event,
      time: at,
      status,
      late: false,
      reason: '',
      statusCode: '2.0.0',
      diagnostic: '',
    });
    assert.deepEqual(shown, {
      status: 'OK',
      messageId,
      messageStatus: 'sent',
      fromDirectAddress: alice,
      acceptedTime: at,
      xdm: false,
      asmEnabled: false,
      requestFinalDelivery: true,
      result: [
        {
          toDirectAddress: bob,
          status: 'sent',
          statusTime: at,
          final: false,
          reason: '',
          statusCode: '2.0.0',
          statusText: "The recipient's mail server accepted the message.",
          history: [entry('accepted', 'queued'), entry('sent', 'sent')],
        },
      ],
    });
  });

  test('POST takes up to 100 ids and names the unknown ones', async () => {
    const { messageId } = asObject(await send());
    const unknownId = newUrn();
    const reply = await world.call('POST', '/messaging/dirmsg/status', {
      body: { messageIds: [messageId, unknownId] },
    });
    assert.deepEqual(
      [asList(reply).map((entry) => entry['messageId']), asObject(reply)['unknown']],
      [[messageId], [unknownId]],
    );
    assert.equal(
      (
        await world.call('POST', '/messaging/dirmsg/status', {
          body: { messageIds: Array.from({ length: 101 }, newUrn) },
        })
      ).status,
      400,
    );
    const foreign = await world.call('POST', '/messaging/dirmsg/status', {
      body: { messageIds: [messageId] },
      token: world.tokens.otherClient,
    });
    assert.deepEqual([asList(foreign), asObject(foreign)['unknown']], [[], [messageId]]);
  });
});

describe('Decision 0014: inbox', () => {
  const inner = (id: string) =>
    `From: ${bob}\nTo: ${alice}\nSubject: Befund\nMessage-ID: <${id}@direct.beta.example>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nText\n--b\nContent-Type: text/html; name="x.html"\nContent-Disposition: attachment; filename*=utf-8''%C3%A4%22.html\n\n<script>alert(1)</script>\n--b--\n`;
  const receive = async (id: string, to: readonly string[] = [alice]) => {
    await world.receive({ from: bob, to, inner: inner(id).replace(/^To: .*/m, `To: ${to.join(', ')}`) });
    return String(asList(await world.call('GET', `${inboxPath}?limit=100`)).at(-1)?.['messageId']);
  };

  test('lists unacknowledged messages without content; ack removes them, twice is the same', async () => {
    const id = await receive('list');
    const entry = asList(await world.call('GET', inboxPath)).find((message) => message['messageId'] === id);
    assert.deepEqual(Object.keys(entry ?? {}).toSorted(), [
      'attachmentCount',
      'fromDirectAddress',
      'messageId',
      'receivedTime',
      'sizeBytes',
      'toDirectAddress',
    ]);
    const first = await world.call('POST', `${inboxPath}/${id}/ack`);
    const second = await world.call('POST', `${inboxPath}/${id}/ack`, {
      body: '',
      headers: { 'content-type': 'application/json' },
    });
    assert.deepEqual([first.status, second.status, second.text], [200, 200, first.text]);
    // An empty body says nothing, whatever its type; another one is refused.
    for (const [body, status] of [
      ['', 200],
      ['a=b', 415],
    ] as const) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const form = await world.call('POST', `${inboxPath}/${id}/ack`, { body, headers });
      assert.equal(form.status, status, body);
    }
    assert.ok(!asList(await world.call('GET', inboxPath)).some((message) => message['messageId'] === id));
  });

  test('gives attachments as bytes with headers that no browser runs', async () => {
    const id = await receive('bytes');
    const reply = await world.call('GET', `${inboxPath}/${id}/attachments/0`);
    assert.equal(reply.text, '<script>alert(1)</script>');
    assert.equal(reply.headers.get('content-type'), 'application/octet-stream');
    assert.equal(
      reply.headers.get('content-disposition'),
      `attachment; filename="__.html"; filename*=UTF-8''%C3%A4%22.html`,
    );
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(reply.headers.get('cache-control'), 'no-store');
    assert.equal((await world.call('GET', `${inboxPath}/${id}/attachments/1`)).status, 404);
    for (const position of ['x', '0.5', '0x0', 'false', '-1'])
      assert.equal(
        (await world.call('GET', `${inboxPath}/${id}/attachments/${position}`)).status,
        400,
        position,
      );
    assert.equal((await world.call('GET', `${inboxPath}?limit=1.5`)).status, 400);
    const zip = await world.call('GET', `${inboxPath}/${id}/attachments/0?xdm=true`);
    assert.deepEqual(
      [zip.headers.get('content-type'), zip.bytes.subarray(0, 2).toString()],
      ['application/zip', 'PK'],
    );
  });

  test('tells the charset of a text, without which its bytes cannot be read', async () => {
    const part = (type: string, bytes: string) =>
      `--b\nContent-Type: ${type}\nContent-Disposition: attachment; filename="x.txt"\nContent-Transfer-Encoding: base64\n\n${Buffer.from(bytes, 'latin1').toString('base64')}\n`;
    const types = ['text/plain; charset=ISO-8859-1', 'text/plain', 'text/plain; charset="a b\\"c"'];
    const inner = `From: ${bob}\nTo: ${alice}\nMessage-ID: <charset@direct.beta.example>\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nText\n${types.map((type) => part(type, 'Gar\u00e7on')).join('')}--b--\n`;
    await world.receive({ from: bob, to: [alice], inner });
    const id = String(asList(await world.call('GET', `${inboxPath}?limit=100`)).at(-1)?.['messageId']);
    const fetched = JSON.parse((await world.call('GET', `${inboxPath}/${id}`)).text) as {
      emailAttachmentList: Record<string, unknown>[];
    };
    assert.deepEqual(
      fetched.emailAttachmentList.map((one) => [one['attachmentClass'], one['attachmentCharset']]),
      [
        ['text/plain', 'ISO-8859-1'],
        ['text/plain', ''],
        ['text/plain', ''],
      ],
    );
    const shown = await Promise.all(
      types.map(async (_, position) => {
        const reply = await world.call('GET', `${inboxPath}/${id}/attachments/${position}`);
        return reply.headers.get('content-type');
      }),
    );
    assert.deepEqual(shown, ['text/plain; charset="ISO-8859-1"', 'text/plain', 'text/plain']);
  });

  test("another client's token reads nothing of it", async () => {
    const id = await receive('secret');
    const token = world.tokens.otherClient;
    for (const [method, address, status] of [
      ['GET', `${inboxPath}/${id}`, 404],
      ['GET', `${inboxPath}/${id}/attachments/0`, 404],
      ['POST', `${inboxPath}/${id}/ack`, 404],
      ['GET', `${inboxPath}?toDirectAddress=${alice}`, 403],
    ] as const) {
      const reply = await world.call(method, address, { token });
      assert.equal(reply.status, status, address);
      assert.ok(!reply.text.includes('Befund'));
    }
    assert.deepEqual(asList(await world.call('GET', inboxPath, { token })), []);
  });

  test('pages by cursor, filters by address, refuses nonsense', async () => {
    await receive('p1', [anna]);
    await receive('p2', [anna]);
    const first = await world.call('GET', `${inboxPath}?toDirectAddress=${anna}&limit=1`);
    const second = await world.call(
      'GET',
      `${inboxPath}?toDirectAddress=${anna}&limit=1&cursor=${String(asObject(first)['nextCursor'])}`,
    );
    assert.notEqual(asList(first)[0]?.['messageId'], asList(second)[0]?.['messageId']);
    assert.equal(asObject(second)['nextCursor'], undefined);
    for (const query of ['limit=0', 'limit=x', 'cursor=%00', 'toDirectAddress=x', 'unread=true'])
      assert.equal((await world.call('GET', `${inboxPath}?${query}`)).status, 400, query);
  });

  test('an empty parameter counts as not sent, as in a search of the directory', async () => {
    await receive('e1', [anna]);
    const all = await world.call('GET', inboxPath);
    const empty = await world.call('GET', `${inboxPath}?toDirectAddress=&limit=&cursor=`);
    assert.deepEqual([empty.status, asList(empty)], [200, asList(all)]);
    const id = String(asList(all).at(-1)?.['messageId']);
    const loose = await world.call('GET', `${inboxPath}/${id}?xdm=`);
    assert.equal(loose.status, 200);
    assert.equal(loose.text, (await world.call('GET', `${inboxPath}/${id}`)).text);
    assert.equal((await world.call('GET', `${inboxPath}?unread=`)).status, 400);
  });
});

describe('Decision 0013: webhooks over HTTP', () => {
  test('create, list, show, change, rotate, dead letters, replay, delete', async () => {
    const created = await world.call('POST', '/messaging/webhooks', {
      body: { url: 'http://127.0.0.1:9/hook', eventTypes: ['message.failed'], description: 'Tests' },
    });
    assert.equal(created.status, 201);
    const { webhook, secret } = asObject(created) as { webhook: Record<string, unknown>; secret: string };
    assert.match(secret, /^whsec_/);
    assert.deepEqual(webhook, {
      id: webhook['id'],
      kind: 'status',
      url: 'http://127.0.0.1:9/hook',
      description: 'Tests',
      eventTypes: ['message.failed'],
      xdm: false,
      enabled: true,
      disabledReason: '',
      basicAuth: false,
      createdTime: world.clock.now().toISOString(),
    });
    const one = `/messaging/webhooks/${String(webhook['id'])}`;
    const list = await world.call('GET', '/messaging/webhooks');
    assert.ok(asList(list).some((entry) => entry['id'] === webhook['id']) && !list.text.includes('whsec_'));
    assert.deepEqual(asObject(await world.call('GET', one))['webhook'], webhook);
    const changed = asObject(await world.call('PATCH', one, { body: { enabled: false } }))[
      'webhook'
    ] as Record<string, unknown>;
    assert.deepEqual([changed['enabled'], changed['disabledReason']], [false, 'client']);
    assert.notEqual(asObject(await world.call('POST', `${one}/rotate-secret`))['secret'], secret);
    assert.deepEqual(asList(await world.call('GET', `${one}/dead-letters`)), []);
    assert.equal(asObject(await world.call('POST', `${one}/replay`))['replayed'], 0);
    assert.equal((await world.call('POST', `${one}/replay`, { body: { eventIds: 'all' } })).status, 400);
    for (const [method, address] of [
      ['GET', one],
      ['PATCH', one],
      ['DELETE', one],
      ['POST', `${one}/rotate-secret`],
    ] as const)
      assert.equal(
        (
          await world.call(method, address, {
            token: world.tokens.otherClient,
            ...(method === 'PATCH' ? { body: {} } : {}),
          })
        ).status,
        404,
        method,
      );
    assert.equal((await world.call('DELETE', one)).status, 204);
    assert.equal((await world.call('GET', one)).status, 404);
  });

  test('a target that is not public or not https is 400', async () => {
    for (const url of ['http://edge.example.org/', 'https://10.0.0.1/', 'https://169.254.169.254/', 'x', 5]) {
      const reply = await world.call('POST', '/messaging/webhooks', { body: { url } });
      assert.deepEqual([reply.status, world.faults(reply)], [400, ['url invalid']]);
    }
  });
});

describe('Decision 0007: quota of sends', () => {
  test('a burst, then 429 with Retry-After and the RateLimit headers; another client is not held up', async () => {
    const limited = await startTestHttp({ settings: { sendsPerSecond: 2, sendsBurst: 3 } });
    try {
      const attempt = () => limited.call('POST', sendPath, { body: sendBody() });
      const replies = [await attempt(), await attempt(), await attempt(), await attempt()];
      assert.deepEqual(
        replies.map((reply) => reply.status),
        [200, 200, 200, 429],
      );
      const refused = replies[3];
      assert.deepEqual(
        [
          refused?.headers.get('retry-after'),
          refused?.headers.get('ratelimit-limit'),
          refused?.headers.get('ratelimit-remaining'),
        ],
        ['1', '3', '0'],
      );
      assert.equal(asObject(refused as Reply)['message'], 'Too Many Requests');
      assert.equal(
        (
          await limited.call('POST', sendPath, {
            body: sendBody({ fromDirectAddress: mallory }),
            token: limited.tokens.otherClient,
          })
        ).status,
        200,
      );
      limited.clock.advance(1000);
      assert.equal((await attempt()).status, 200);
    } finally {
      await limited.close();
    }
  });
});

describe('SEC-03: the log', () => {
  test('contains nothing that was sent, received, refused or queried', async () => {
    const before = world.logLines.length;
    const secrets = [
      'Jane',
      'Doe',
      '19700101',
      'MRN-4711',
      'Springfield',
      'Befund',
      'hush',
      ...Object.values(world.tokens),
    ];
    const fields = {
      messageSubject: 'Befund',
      messageBody: 'Jane Doe',
      patientDOB: '19700101',
      patientId: 'MRN-4711',
      assigning_authority: '1.2',
      patientAddressCity: 'Springfield',
    };
    await send(fields);
    await send({ ...fields, patientGender: 'Jane', Springfield: 'hush' });
    await world.call('POST', sendPath, {
      body: '{"messageBody":"Jane Doe',
      headers: { 'content-type': 'application/json' },
    });
    await world.call('GET', `${inboxPath}?toDirectAddress=Jane`);
    await world.call('POST', '/messaging/webhooks', {
      body: { url: 'http://127.0.0.1:9/', basicAuth: { username: 'u', password: 'hush' } },
    });
    assert.ok(world.logLines.length > before);
    for (const secret of secrets) assert.ok(!world.logLines.join('\n').includes(secret), secret);
  });
});
