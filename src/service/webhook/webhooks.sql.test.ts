import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { Kysely } from 'kysely';
import {
  alice,
  bob,
  startTestMessaging,
  waitUntil,
  type TestMessaging,
} from '../../../test/messaging/start-messaging.ts';
import { WebhookError } from './errors.ts';
import type { MessageEvent } from './events.ts';
import { createWebhookOperator } from './operator.ts';
import { retryDelaysMs } from './retry-schedule.ts';
import type { WebhookTables } from './tables.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let world: TestMessaging;
let target: Server;
let url: string;
let received: Received[] = [];
let answer: (received: Received) => number;
let retryAfter: string | undefined;

before(async () => {
  target = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const found = { headers: request.headers, body: Buffer.concat(chunks).toString() };
      received.push(found);
      const wait = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      response.writeHead(answer(found), { location: url, ...wait }).end();
    });
  });
  await new Promise<void>((ready) => target.listen(0, '127.0.0.1', ready));
  url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/hook`;
});
after(() => void target.close());
beforeEach(async () => {
  world = await startTestMessaging();
  received = [];
  answer = () => 204;
  retryAfter = undefined;
});
afterEach(() => world.close());

const clientId = 'clinic';
const event = (changes: Partial<MessageEvent> = {}): MessageEvent => ({
  clientId,
  eventType: 'message.processed',
  at: new Date('2026-11-21T12:00:00Z'),
  messageId: 'urn:uuid:6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11',
  fromDirectAddress: alice,
  toDirectAddress: bob,
  status: 'processed',
  statusCode: '2.0.0',
  statusText: 'ok',
  ...changes,
});

async function notify(changes: Partial<MessageEvent> = {}): Promise<void> {
  await world.storage.transaction((tx: Kysely<unknown>) => world.webhooks.notifyIn(tx, event(changes)));
  world.webhooks.wake();
}

const rows = () =>
  world.storage.tables<WebhookTables>().selectFrom('webhook_notification').selectAll().execute();
/** So many calls were made, and none is in anybody's hands. */
const settled = (count: number) =>
  waitUntil(
    async () =>
      received.length >= count && (await rows()).every((row) => row.lease_token === null && row.attempts > 0),
    `${count} attempts`,
  );
const isQueueEmpty = async () => (await rows()).length === 0;
/** The first notification was tried that often and is in nobody's hands. */
const attempted = (count: number) =>
  waitUntil(async () => {
    const [row] = await rows();
    return row?.attempts === count && row.lease_token === null;
  }, `attempt ${count}`);
const create = (changes: Record<string, unknown> = {}) =>
  world.webhooks.create(clientId, { url, ...changes });

describe('Decision 0013: notifications', () => {
  it('come signed, with the event and nothing else', async () => {
    const { webhook, secret } = await create();
    await notify();
    await waitUntil(() => received.length === 1);
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    assert.deepEqual(JSON.parse(body), {
      eventId: headers['webhook-id'],
      eventType: 'message.processed',
      eventTime: '2026-11-21T12:00:00.000Z',
      messageId: event().messageId,
      fromDirectAddress: alice,
      toDirectAddress: bob,
      status: 'processed',
      statusCode: '2.0.0',
      statusText: 'ok',
      attempt: 1,
    });
    const key = Buffer.from(secret.slice(6), 'base64');
    const expected = createHmac('sha256', key)
      .update(`${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`)
      .digest('base64');
    assert.equal(headers['webhook-signature'], `v1,${expected}`);
    assert.equal(headers['webhook-timestamp'], String(world.clock.now().getTime() / 1000));
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['authorization'], undefined);
    await waitUntil(isQueueEmpty);
    assert.ok(!JSON.stringify(await world.webhooks.hooks.get(clientId, webhook.id)).includes('whsec_'));
  });

  it('go only to hooks that want the event, of the client that it is about', async () => {
    await create({ eventTypes: ['message.failed'] });
    await world.webhooks.create('other', { url });
    await notify();
    await notify({ eventType: 'message.failed' });
    await waitUntil(() => received.length === 1);
    await waitUntil(isQueueEmpty);
    assert.equal(received.length, 1);
    assert.match(received[0]?.body ?? '', /message\.failed/);
  });

  it('come again with the same id and a higher attempt until a 2xx', async () => {
    await create();
    answer = () => (received.length < 3 ? 500 : 200);
    await notify();
    for (const [index, wait] of retryDelaysMs.slice(0, 2).entries()) {
      await attempted(index + 1);
      world.clock.advance(wait);
    }
    await waitUntil(isQueueEmpty);
    assert.deepEqual(
      received.map(({ body }) => (JSON.parse(body) as { attempt: number }).attempt),
      [1, 2, 3],
    );
    assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1);
  });

  it('wait for the time that the receiver asks for, an hour at most, and never less than the schedule', async () => {
    await create();
    answer = () => 503;
    const date = new Date('2026-11-21T12:10:00Z').toUTCString();
    for (const [index, [value, waitMs]] of (
      [
        ['120', 120_000],
        ['1', retryDelaysMs[1] ?? 0],
        ['99999', 3_600_000],
        ['soon', retryDelaysMs[3] ?? 0],
        [date, retryDelaysMs[4] ?? 0],
      ] as const
    ).entries()) {
      retryAfter = value;
      if (index === 0) await notify();
      await attempted(index + 1);
      const [row] = await rows();
      assert.equal((row?.next_attempt_at ?? 0) - world.clock.now().getTime(), waitMs, value);
      world.clock.advance(waitMs);
    }
  });

  it('a redirect is a failure and is not followed', async () => {
    await create();
    answer = () => 302;
    await notify();
    await settled(1);
    assert.deepEqual(
      [received.length, (await rows())[0]?.state, (await rows())[0]?.last_status],
      [1, 'waiting', 302],
    );
  });

  it('when the attempts are exhausted it is dead, the operator is notified, and replay sends it again', async () => {
    const { webhook } = await create();
    answer = () => 500;
    await notify();
    for (let attempt = 1; attempt <= retryDelaysMs.length + 1; attempt++) {
      await attempted(attempt);
      world.clock.advance(retryDelaysMs[attempt - 1] ?? 0);
    }
    const [deadLetter] = await world.webhooks.listDeadLetters(clientId, webhook.id);
    assert.deepEqual(
      [deadLetter?.attempts, deadLetter?.lastStatus, deadLetter?.lastError],
      [retryDelaysMs.length + 1, 500, 'HTTP 500'],
    );
    await waitUntil(() => world.logLines.some((line) => line.includes('waits for replay')));
    answer = () => 200;
    assert.equal(await world.webhooks.replay(clientId, webhook.id, { eventIds: ['other'] }), 0);
    assert.equal(await world.webhooks.replay(clientId, webhook.id, undefined), 1);
    await waitUntil(isQueueEmpty);
    assert.deepEqual(await world.webhooks.listDeadLetters(clientId, webhook.id), []);
  });

  it('a payload that was changed in the database is not signed', async () => {
    await create();
    answer = () => 500;
    await notify();
    await attempted(1);
    const db = world.storage.tables<WebhookTables>();
    const row = db.selectFrom('webhook_notification').select(['payload', 'last_error']);
    const { payload } = await row.executeTakeFirstOrThrow();
    const setPayload = (text: string) =>
      db.updateTable('webhook_notification').set({ payload: text }).execute();
    await setPayload('"forged"');
    answer = () => 200;
    world.clock.advance(3_600_000);
    await waitUntil(async () => (await row.executeTakeFirst())?.last_error === 'WEBHOOK_PAYLOAD_UNREADABLE');
    assert.equal(received.length, 1);
    await setPayload(payload);
    world.clock.advance(24 * 3_600_000);
    await waitUntil(isQueueEmpty);
    assert.equal(received.length, 2);
  });

  it('410 switches the hook off at once', async () => {
    const { webhook } = await create();
    answer = () => 410;
    await notify();
    await waitUntil(async () => !(await world.webhooks.hooks.get(clientId, webhook.id)).isEnabled);
    assert.equal((await world.webhooks.hooks.get(clientId, webhook.id)).disabledReason, 'gone');
    await notify();
    assert.equal((await rows()).length, 1);
    assert.equal((await world.audit.find({ action: 'webhook.disabled' })).length, 1);
  });

  it('an operator disables and enables it together with the row in the audit trail', async () => {
    const { webhook } = await create();
    const isEnabled = async () => (await world.webhooks.hooks.get(clientId, webhook.id)).isEnabled;
    const unwritable = () => Promise.reject(new Error('the audit trail cannot be written'));
    const operator = createWebhookOperator({
      storage: world.storage,
      audit: { ...world.audit, recordIn: unwritable, recordNow: unwritable },
      operator: 'operator:jo',
    });
    await assert.rejects(operator.setEnabled(webhook.id, false, world.webhooks), /cannot be written/);
    assert.equal(await isEnabled(), true);
    const able = world.webhooks.as('operator:jo');
    for (const enabled of [false, false, true]) {
      await able.setEnabled(webhook.id, enabled, world.webhooks);
      assert.equal(await isEnabled(), enabled);
    }
    for (const action of ['webhook.disable', 'webhook.enable']) {
      const rows = await world.audit.find({ action });
      assert.deepEqual(
        rows.map(({ actor, objects }) => [actor, objects['webhookId']]),
        [['operator:jo', webhook.id]],
      );
    }
  });

  it('three days of failure switch the hook off, the operator is notified; a success in between forgives', async () => {
    const { webhook } = await create();
    const get = () => world.webhooks.hooks.get(clientId, webhook.id);
    answer = () => 500;
    await notify();
    await settled(1);
    assert.notEqual((await get()).failingSince, undefined);
    answer = () => 200;
    world.clock.advance(10_000);
    await waitUntil(async () => (await get()).failingSince === undefined);
    answer = () => 503;
    await notify();
    await waitUntil(async () => (await get()).failingSince !== undefined);
    world.clock.advance(3 * 24 * 3_600_000);
    await waitUntil(async () => !(await get()).isEnabled);
    assert.equal((await get()).disabledReason, 'failing');
    await waitUntil(() => world.logLines.some((line) => line.includes('switched off')));
    answer = () => 200;
    await world.webhooks.update(clientId, webhook.id, { enabled: true });
    world.clock.advance(24 * 3_600_000);
    await waitUntil(isQueueEmpty);
  });

  it('a dead target does not hold up the others', async () => {
    answer = ({ headers }) => (headers['authorization'] === undefined ? 200 : 500);
    await create({ basicAuth: { username: 'u', password: 'p' } });
    await create();
    for (let index = 0; index < 20; index++) await notify();
    await waitUntil(
      async () => (await rows()).length === 20 && (await rows()).every((row) => row.attempts > 0),
    );
  });

  it('the notifications of a stopped node are sent when its lease has expired', async () => {
    await create();
    await world.webhooks.close();
    await notify();
    await world.storage
      .tables<WebhookTables>()
      .updateTable('webhook_notification')
      .set({ lease_token: 'dead node', lease_until: world.clock.now().getTime() + 60_000 })
      .execute();
    await world.webhooks.start();
    world.clock.advance(60_001);
    await waitUntil(isQueueEmpty);
    assert.equal(received.length, 1);
  });

  it('a rolled back change sends no notification', async () => {
    await create();
    const work = world.storage.transaction(async (tx: Kysely<unknown>) => {
      await world.webhooks.notifyIn(tx, event());
      throw new Error('no');
    });
    await assert.rejects(work, /no/);
    assert.deepEqual(await rows(), []);
  });
});

describe('Decision 0013: rotation and Basic', () => {
  it('for a day both secrets sign, then only the new one', async () => {
    const { webhook, secret } = await create({ basicAuth: { username: 'edge', password: 'pass:word' } });
    const next = await world.webhooks.hooks.rotateSecret(clientId, webhook.id);
    assert.notEqual(next, secret);
    await notify();
    await waitUntil(() => received.length === 1);
    assert.equal(String(received[0]?.headers['webhook-signature']).split(' ').length, 2);
    assert.equal(
      received[0]?.headers['authorization'],
      `Basic ${Buffer.from('edge:pass:word').toString('base64')}`,
    );
    await settled(1);
    world.clock.advance(24 * 3_600_000 + 1);
    await notify();
    await settled(2);
    assert.equal(String(received[1]?.headers['webhook-signature']).split(' ').length, 1);
    await world.webhooks.update(clientId, webhook.id, { basicAuth: null });
    await notify();
    await settled(3);
    assert.equal(received[2]?.headers['authorization'], undefined);
  });

  it('a rotation that is sent again, because its answer was lost, leaves the secret that is in use signing', async () => {
    const { webhook, secret } = await create();
    const secrets = [secret];
    for (let at = 0; at < 3; at++)
      secrets.push(await world.webhooks.hooks.rotateSecret(clientId, webhook.id));
    const signaturesOf = ({ headers, body }: Received): string[] =>
      secrets.map((one) => {
        const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
        return `v1,${createHmac('sha256', Buffer.from(one.slice(6), 'base64'))
          .update(signed)
          .digest('base64')}`;
      });
    const sentSignatures = ({ headers }: Received): string[] =>
      String(headers['webhook-signature']).split(' ');
    await notify();
    await waitUntil(() => received.length === 1);
    const [first] = received;
    assert.ok(first !== undefined);
    assert.deepEqual(sentSignatures(first), signaturesOf(first).toReversed());
    await settled(1);
    for (let at = 0; at < 10; at++) await world.webhooks.hooks.rotateSecret(clientId, webhook.id);
    await notify();
    await settled(2);
    assert.equal(received[1] && sentSignatures(received[1]).length, 5);
    world.clock.advance(24 * 3_600_000 + 1);
    await notify();
    await settled(3);
    assert.equal(received[2] && sentSignatures(received[2]).length, 1);
  });

  it('a 410 of the target that a change has just replaced says nothing about the new one', async () => {
    const former = createServer((request, response) => {
      void world.webhooks
        .update(clientId, webhook.id, { url })
        .then(() => request.resume() && response.writeHead(410).end());
    });
    await new Promise<void>((ready) => former.listen(0, '127.0.0.1', ready));
    const { port } = former.address() as AddressInfo;
    const { webhook } = await create({ url: `http://127.0.0.1:${port}/` });
    await notify();
    await attempted(1);
    former.close();
    world.clock.advance(6000);
    await waitUntil(isQueueEmpty);
    assert.deepEqual(
      [(await world.webhooks.hooks.get(clientId, webhook.id)).isEnabled, received.length],
      [true, 1],
    );
  });

  it('a new target begins anew: what waits is sent to it at once, and failures of the old one do not count', async () => {
    const { webhook } = await create();
    answer = () => 500;
    await notify();
    for (const [index, wait] of retryDelaysMs.slice(0, 5).entries()) {
      await attempted(index + 1);
      if (index < 4) world.clock.advance(wait * 1.1);
    }
    world.clock.advance(1000);
    await world.webhooks.update(clientId, webhook.id, { url: `${url}/new` });
    await attempted(6);
    world.clock.advance(3 * 86_400_000 - 5 * 60_000);
    await attempted(7);
    const { isEnabled } = await world.webhooks.hooks.get(clientId, webhook.id);
    assert.equal(isEnabled, true);
  });

  for (const [title, listChanges] of [
    ['a new target', () => [{ url: `${url}/new` }]],
    ['enabling', () => [{ enabled: false }, { enabled: true }]],
  ] as const)
    it(`${title} ends the back-off after failures: what waits is sent at once`, async () => {
      await world.close();
      world = await startTestMessaging({ webhookLimits: { failuresBeforeBackOff: 1, backOffMs: 60_000 } });
      const { webhook } = await create();
      answer = () => 500;
      await notify();
      await attempted(1);
      answer = () => 204;
      for (const change of listChanges()) await world.webhooks.update(clientId, webhook.id, change);
      await waitUntil(isQueueEmpty);
      assert.equal(received.length, 2);
    });

  it('a change that sets what is set already, as of a receiver that starts again and again, costs no attempt', async () => {
    const { webhook } = await create();
    answer = () => 500;
    await notify();
    await attempted(1);
    const [before] = await rows();
    world.clock.advance(100);
    await world.webhooks.update(clientId, webhook.id, { url, enabled: true });
    assert.deepEqual(await rows(), [before]);
  });

  it('secrets and credentials are encrypted in the database', async () => {
    const { secret } = await create({ basicAuth: { username: 'edge', password: 'hush-hush' } });
    const row = await world.storage
      .tables<WebhookTables>()
      .selectFrom('webhook')
      .selectAll()
      .executeTakeFirstOrThrow();
    const stored = Object.values(row)
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
      .join(' ');
    assert.ok(!stored.includes(secret) && !stored.includes(secret.slice(6)) && !stored.includes('hush-hush'));
  });
});

describe('webhooks of a client', () => {
  it('belong to it alone', async () => {
    const { webhook } = await create();
    for (const work of [
      () => world.webhooks.hooks.get('other', webhook.id),
      () => world.webhooks.update('other', webhook.id, { enabled: false }),
      () => world.webhooks.hooks.rotateSecret('other', webhook.id),
      () => world.webhooks.hooks.remove('other', webhook.id),
      () => world.webhooks.listDeadLetters('other', webhook.id),
      () => world.webhooks.replay('other', webhook.id, {}),
    ])
      await assert.rejects(work(), { code: 'WEBHOOK_NOT_FOUND' });
    assert.deepEqual(await world.webhooks.hooks.list('other'), []);
    await world.webhooks.hooks.remove(clientId, webhook.id);
    assert.deepEqual(await world.webhooks.hooks.list(clientId), []);
  });

  it('a faulty registration is refused with all its faults', async () => {
    const faults = async (body: unknown) => {
      const error = await world.webhooks.create(clientId, body).catch((reason: unknown) => reason);
      assert.ok(error instanceof WebhookError && error.code === 'WEBHOOK_REQUEST_INVALID');
      return error.problems.map(({ field, reason }) => `${field} ${reason}`).toSorted();
    };
    assert.deepEqual(await faults({}), ['url required']);
    assert.deepEqual(
      await faults({
        url: 'x',
        kind: 'y',
        description: 5,
        eventTypes: ['z'],
        xdm: 1,
        basicAuth: {},
        secret: 's',
      }),
      [
        'basicAuth invalid',
        'description invalid',
        'eventTypes invalid',
        'kind invalid',
        'secret unknown',
        'url invalid',
        'xdm invalid',
      ],
    );
    assert.deepEqual(await faults({ url, kind: 'inbound', eventTypes: ['message.sent'] }), [
      'eventTypes invalid',
    ]);
    assert.deepEqual(await faults({ url, basicAuth: { username: 'a:b', password: 'c' } }), [
      'basicAuth invalid',
    ]);
    for (const hidden of ['\0', '\u0085', '\u200b', '\u202e', '\u2028', '\ud800'])
      assert.deepEqual(await faults({ url, description: `a${hidden}b` }), ['description control_character']);
    assert.deepEqual(await faults(null), ['body invalid', 'url required']);
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`field${at}`, 1]));
    assert.equal((await faults({ url, ...many })).length, 100);
  });

  it('a replay of an id that no database could hold is refused by the name of its field', async () => {
    const { webhook } = await create();
    await assert.rejects(world.webhooks.replay(clientId, webhook.id, { eventIds: ['a\0b'] }), (error) => {
      assert.ok(error instanceof WebhookError);
      assert.deepEqual(
        error.problems.map(({ field }) => field),
        ['eventIds'],
      );
      return true;
    });
  });

  it('an inbound hook cannot be changed to events that it never gets', async () => {
    const { webhook } = await create({ kind: 'inbound' });
    await assert.rejects(world.webhooks.update(clientId, webhook.id, { eventTypes: ['message.failed'] }), {
      code: 'WEBHOOK_REQUEST_INVALID',
    });
    const same = await world.webhooks.update(clientId, webhook.id, { eventTypes: ['message.received'] });
    assert.deepEqual(same.eventTypes, ['message.received']);
  });

  it('are twenty at most', async () => {
    // The operator's targets of edge accounts do not count.
    const setTarget = (username: string) =>
      world.webhooks.setEdgeTarget(
        { accountId: username, clientId, username },
        'failures',
        'https://ecr.example/x',
      );
    assert.equal(await setTarget('one'), 'created');
    for (let index = 0; index < 20; index++) await create();
    await assert.rejects(create(), { code: 'WEBHOOK_LIMIT_REACHED' });
    assert.equal(await setTarget('two'), 'created');
  });
});

describe('Decision 0014: push of received messages', () => {
  const inner = `From: ${bob}\nTo: ${alice}\nSubject: Push\nMessage-ID: <p@direct.beta.example>\nDisposition-Notification-Options: X-DIRECT-FINAL-DESTINATION-DELIVERY=optional,true\n\nHello`;

  it('the inbound hook gets the whole message; its 2xx acknowledges and sends the dispatched MDN', async () => {
    await create({ kind: 'inbound' });
    await create({ eventTypes: ['message.received'] });
    await world.receive({ from: bob, to: [alice], inner });
    await waitUntil(() => received.length === 2);
    const bodies = received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    const full = bodies.find((body) => 'envelopeInfo' in body);
    const light = bodies.find((body) => body['eventType'] === 'message.received');
    assert.deepEqual([full?.['messageSubject'], full?.['messageBody']], ['Push', 'Hello']);
    assert.ok(light !== undefined && !JSON.stringify(light).includes('Push'));
    await waitUntil(() => world.deliveries.length === 2);
    assert.deepEqual((await world.messaging.listInbox(world.clinic, {})).messages, []);
  });

  it('without a 2xx the message stays in the inbox; a message acknowledged in the meantime is not pushed', async () => {
    await create({ kind: 'inbound' });
    answer = () => 500;
    await world.receive({ from: bob, to: [alice], inner });
    await settled(1);
    const [waiting] = (await world.messaging.listInbox(world.clinic, {})).messages;
    await world.messaging.acknowledge(world.clinic, waiting?.messageId ?? '', {});
    world.clock.advance(10_000);
    await waitUntil(isQueueEmpty);
    assert.equal(received.length, 1);
  });

  it('a message that was acknowledged in the meantime is neither an attempt nor a success of the webhook', async () => {
    const { webhook } = await create({ kind: 'inbound' });
    answer = () => 500;
    await world.receive({ from: bob, to: [alice], inner });
    await settled(1);
    const { failingSince } = await world.webhooks.hooks.get(clientId, webhook.id);
    assert.ok(failingSince);
    const [waiting] = (await world.messaging.listInbox(world.clinic, {})).messages;
    await world.messaging.acknowledge(world.clinic, waiting?.messageId ?? '', {});
    world.clock.advance(10_000);
    await waitUntil(isQueueEmpty);
    const after = await world.webhooks.hooks.get(clientId, webhook.id);
    assert.deepEqual([after.failingSince, after.lastSuccessAt], [failingSince, undefined]);
    const attempts = world.storage.tables<WebhookTables>().selectFrom('webhook_attempt').selectAll();
    assert.deepEqual(
      (await attempts.execute()).map(({ attempt, http_status: status }) => [attempt, status]),
      [[1, 500]],
    );
    const [row] = await world.audit.find({ action: 'webhook.settled', limit: 10 });
    assert.deepEqual([row?.outcome, row?.objects['state'], row?.objects['attempts']], ['ok', 'unneeded', 1]);
  });

  for (const [title, change, undo] of [
    ['is disabled', () => world.oauth.clients.disable(clientId), () => world.oauth.clients.enable(clientId)],
    [
      'loses the messaging API',
      () => world.oauth.clients.update(clientId, { scopes: ['provider-directory'] }),
      () => world.oauth.clients.update(clientId, { scopes: ['messaging.api'] }),
    ],
  ] as const)
    it(`SEC-01: a client that ${title} gets no message; one that already waited for it waits until that changes`, async () => {
      await create({ kind: 'inbound' });
      answer = () => 500;
      await world.receive({ from: bob, to: [alice], inner });
      await attempted(1);
      await change();
      answer = () => 204;
      world.clock.advance(10_000);
      await attempted(2);
      await world.receive({ from: bob, to: [alice], inner: inner.replace('<p@', '<q@') });
      assert.deepEqual(
        (await rows()).map(({ state, last_error: error }) => [state, error]),
        [['waiting', 'MESSAGING_CLIENT_NOT_ALLOWED']],
      );
      assert.equal(received.length, 1);
      assert.equal((await world.messaging.listInbox(world.clinic, {})).messages.length, 2);
      await undo();
      world.clock.advance(3_600_000);
      await waitUntil(isQueueEmpty);
      assert.equal(received.length, 2);
      assert.equal((await world.messaging.listInbox(world.clinic, {})).messages.length, 1);
    });

  it('SEC-01: a client that is disabled gets no event of its messages either, until it is enabled again', async () => {
    const { webhook } = await create();
    await world.oauth.clients.disable(clientId);
    await notify();
    await attempted(1);
    assert.deepEqual([(await rows())[0]?.last_error, received.length], ['MESSAGING_CLIENT_NOT_ALLOWED', 0]);
    assert.equal((await world.webhooks.hooks.get(clientId, webhook.id)).failingSince, undefined);
    await world.oauth.clients.enable(clientId);
    world.clock.advance(10_000);
    await waitUntil(isQueueEmpty);
    assert.equal(received.length, 1);
  });

  it('attempts without a call, because the client is disabled, are no failures of the webhook', async () => {
    const { webhook } = await create({ kind: 'inbound' });
    await world.webhooks.close();
    await world.receive({ from: bob, to: [alice], inner });
    await world.oauth.clients.disable(clientId);
    await world.webhooks.start();
    world.clock.advance(60_001);
    await attempted(1);
    assert.equal((await world.webhooks.hooks.get(clientId, webhook.id)).failingSince, undefined);
    world.clock.advance(3 * 24 * 3_600_000);
    await attempted(2);
    assert.equal((await world.webhooks.hooks.get(clientId, webhook.id)).isEnabled, true);
    await world.oauth.clients.enable(clientId);
    world.clock.advance(24 * 3_600_000);
    await waitUntil(isQueueEmpty);
    assert.equal(received.length, 1);
  });

  it("another client's hook is not notified", async () => {
    await world.webhooks.create('other', { url, kind: 'inbound' });
    await world.webhooks.create('other', { url });
    await world.receive({ from: bob, to: [alice], inner });
    assert.deepEqual(await rows(), []);
  });
});
