/** One id joins what is written about a message: audit rows and log lines, out and in; a refused request has its request id. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { demoAddress, partners } from '../../src/app/dev/index.ts';
import { echoAddress } from '../../src/app/dev/sandbox-names.ts';
import { openTestSandbox, readStatus, send, waitFor, type TestSandbox } from './sandbox-fixture.ts';

let world: TestSandbox;
before(async () => {
  world = await openTestSandbox();
});
after(() => world.close());

interface InboxPage {
  readonly result: readonly { readonly messageId: string; readonly receivedTime: string }[];
}

async function readRows(): Promise<{ readonly action: string; readonly messageId: unknown }[]> {
  const rows = await world.sandbox.world.hisp.audit.find({ limit: 500 });
  return rows.toReversed().map(({ action, objects }) => ({ action, messageId: objects['messageId'] }));
}

describe('a message out and one in', () => {
  let messageId = '';
  before(async () => {
    messageId = await send(world.client, {
      fromDirectAddress: demoAddress,
      toDirectAddress: [echoAddress, partners.untrusted],
      messageSubject: 'Referral',
      messageBody: 'Hello',
    });
    await waitFor(
      () => readStatus(world.client, messageId),
      ({ result }) => result.every(({ final }) => final),
    );
    // The welcome, and the answer of the echo.
    const { result } = await waitFor(
      async () => (await world.client.get('/messaging/dirmsg/inbox')) as InboxPage,
      (page) => page.result.length === 2,
    );
    const copy = `/messaging/dirmsg/inbox/${result[1]?.messageId}`;
    await world.client.get(copy);
    await world.client.post(`${copy}/ack`);
    await waitFor(readRows, (rows) => rows.filter(({ action }) => action === 'mdn.sent').length === 2);
  });

  it('every audit row about messages has a message id', async () => {
    const rows = (await readRows()).filter(({ action }) => /^(message|mdn)\./.test(action));
    assert.ok(rows.length > 10, `${rows.length} rows`);
    assert.deepEqual(
      rows.filter((row) => typeof row.messageId !== 'string' || row.messageId === ''),
      [],
    );
  });

  it('the rows of the message that was sent have one id, from its acceptance to the MDN', async () => {
    const uuid = messageId.slice('urn:uuid:'.length);
    const rows = (await readRows()).filter((row) => String(row.messageId).startsWith(`<${uuid}@`));
    assert.equal(new Set(rows.map((row) => row.messageId)).size, 1);
    const actions = new Set(rows.map(({ action }) => action));
    for (const action of ['message.accept', 'message.undeliverable', 'message.sent', 'mdn.receive'])
      assert.ok(actions.has(action), action);
  });

  it('so have those of the message that was received, from its arrival to the acknowledgement', async () => {
    const rows = await readRows();
    const id = rows.findLast(({ action }) => action === 'message.acknowledge')?.messageId;
    const actions = new Set(rows.filter((row) => row.messageId === id).map(({ action }) => action));
    assert.deepEqual([...actions].sort(), [
      'mdn.processed',
      'mdn.sent',
      'message.acknowledge',
      'message.fetch',
      'message.receive',
    ]);
  });

  it('every log line of an event of a message has it', () => {
    const events = 'accepted|changed|attemptFailed|attemptSucceeded|received|mdnReceived|settled';
    const lines = world.logged.filter((line) => new RegExp(`"event":"(${events})"`).test(line));
    assert.ok(lines.length > 15, `${lines.length} lines`);
    assert.deepEqual(
      lines.filter((line) => !/"messageId":"[^"]+"/.test(line)),
      [],
    );
  });
});

describe('a request that is refused', () => {
  it('leaves a line with the id that the caller was given, for 400, 409, 413 and 415', async () => {
    const { baseUrl, clientId, clientSecret } = world.sandbox.credentials;
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
    const token = await fetch(`${baseUrl}/oauth2/direct/v1/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: accessToken } = (await token.json()) as { access_token: string };
    const post = (path: string, body: string, type = 'application/json') =>
      fetch(baseUrl + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${accessToken}`, 'content-type': type },
        body,
      });
    const message = {
      fromDirectAddress: demoAddress,
      toDirectAddress: partners.processed,
      messageId: 'urn:uuid:6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11',
      messageSubject: 'Referral',
    };
    const sendPath = '/messaging/dirmsg/send_ccda';
    await post(sendPath, JSON.stringify({ ...message, messageBody: 'one' }));
    for (const [status, answer] of [
      [400, await post(sendPath, '{"patientLastname":"Quillfeather","')],
      [400, await post(sendPath, '{"patientLastname":"Quillfeather"}')],
      [409, await post(sendPath, JSON.stringify({ ...message, messageBody: 'Quillfeather' }))],
      [413, await post('/messaging/webhooks', `{"url":"${'x'.repeat(2_000_000)}"}`)],
      [415, await post(sendPath, 'x', 'text/plain')],
    ] as const) {
      assert.equal(answer.status, status);
      const requestId = answer.headers.get('x-request-id') ?? '';
      const line = world.logged.find(
        (one) => one.startsWith('info a request was refused') && one.includes(requestId),
      );
      assert.ok(line?.includes(`"status":${status}`), `${status}: ${line}`);
      assert.ok(line?.includes(`"clientId":"${clientId}"`), line);
    }
    assert.ok(!world.logged.some((line) => line.includes('Quillfeather')));
  });
});
