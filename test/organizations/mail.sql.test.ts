/** What an organization's limits per day and its end mean for mail: of its clients, and to its addresses. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startSmtpListener } from '../../src/app/smtp/index.ts';
import { errorCode, silentLog, type CodedError } from '../../src/core/index.ts';
import { createSmtpClient } from '../../src/lib/smtp/index.ts';
import { parseDirectAddress } from '../../src/lib/values/index.ts';
import { closeOrganization } from '../../src/service/hosting/index.ts';
import { readUsage } from '../../src/service/messaging/index.ts';
import { countUsage } from '../../src/service/messaging/usage/count-usage.ts';
import { createOrganizations, type Organizations } from '../../src/service/organizations/index.ts';
import { newUrn, sendBody, startTestMessaging, type TestMessaging } from '../messaging/start-messaging.ts';

const domain = 'direct.clinic.example';
let world: TestMessaging;
let organizations: Organizations;
let client: TestMessaging['clinic'];

before(async () => {
  world = await startTestMessaging({ isStarted: false });
  organizations = createOrganizations(world);
  await organizations.create({ id: 'clinic', name: 'Clinic' });
  await world.trust.addDomain(domain, 'clinic');
  await world.trust.putAddress(parseDirectAddress(`bob@${domain}`));
  const { clientId } = await world.oauth.clients.create({
    name: 'EHR',
    scopes: ['messaging.api'],
    directAddresses: [`@${domain}`],
    organizationId: 'clinic',
  });
  client = await world.oauth.clients.get(clientId);
});
after(() => world.close());

const send = (changes: Record<string, unknown> = {}) =>
  world.messaging.send(client, sendBody({ fromDirectAddress: `bob@${domain}`, ...changes }), {});
const count = async () =>
  Number(
    (
      await world.db
        .selectFrom('message')
        .select((eb) => eb.fn.countAll().as('count'))
        .executeTakeFirst()
    )?.count,
  );

test('a message over the limit of a day is refused until midnight, and neither it nor a repetition counts', async () => {
  world.clock.advance(Date.parse('2030-01-01T18:00:00Z') - world.clock.now().getTime());
  await organizations.update('clinic', { limits: { messagesPerDay: 2 } });
  const messageId = newUrn();
  const first = await send({ messageId });
  assert.equal((await send({ messageId })).json, first.json);
  await send();
  const full = (error: CodedError) => {
    assert.equal(error.code, 'ORGANIZATION_DAY_FULL');
    assert.equal(
      error.publicMessage,
      'Your organization may send 2 messages on a day (UTC), and this one would be more.',
    );
    assert.equal(error.retryAfterSeconds, 6 * 3600);
    return true;
  };
  await assert.rejects(send(), full);
  assert.equal((await send({ messageId })).isReplay, true);
  assert.equal(await count(), 2);
  assert.deepEqual(
    (await organizations.findNearLimits(async () => new Map())).map(({ limit, used }) => [limit, used]),
    [['messagesPerDay', 2]],
  );
  world.clock.advance(6 * 3_600_000);
  const outcomes = await Promise.allSettled([send(), send(), send(), send()]);
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), [
    'fulfilled',
    'fulfilled',
    'rejected',
    'rejected',
  ]);
  assert.equal(await count(), 4);
});

test('octets of a day are counted before they are sealed', async () => {
  await organizations.update('clinic', { limits: { messagesPerDay: null, octetsPerDay: 20_000 } });
  world.clock.advance(86_400_000);
  const before = await count();
  await assert.rejects(send({ messageBody: 'x'.repeat(30_000) }), { code: 'ORGANIZATION_DAY_FULL' });
  await send({ messageBody: 'x'.repeat(3000) });
  assert.equal(await count(), before + 1);
  await organizations.update('clinic', { limits: { octetsPerDay: null } });
});

test('usage is told apart by the organization of the client that sent', async () => {
  const own = sendBody();
  await world.messaging.send(world.clinic, own, {});
  await countUsage(world, 1e12);
  const read = async (organizationId?: string) =>
    (
      await readUsage(world.storage, {
        from: '2030-01',
        to: '2030-01',
        by: ['organization'],
        organizationId,
        limit: 10,
      })
    ).rows.map(({ organization, messages }) => [organization, messages]);
  assert.deepEqual(await read(), [
    ['clinic', 5],
    ['operator', 1],
  ]);
  assert.deepEqual(await read('operator'), [['operator', 1]]);
});

test('clients of two limited organizations that send at once, in mixed order, are accepted up to the limit of each', async () => {
  const other = 'direct.other.example';
  await organizations.create({ id: 'other', name: 'Other' });
  await world.trust.addDomain(other, 'other');
  await world.trust.putAddress(parseDirectAddress(`eve@${other}`));
  const { clientId } = await world.oauth.clients.create({
    name: 'Other EHR',
    scopes: ['messaging.api'],
    directAddresses: [`@${other}`],
    organizationId: 'other',
  });
  const otherClient = await world.oauth.clients.get(clientId);
  const sendOther = () =>
    world.messaging.send(otherClient, sendBody({ fromDirectAddress: `eve@${other}` }), {});
  for (const id of ['clinic', 'other']) await organizations.update(id, { limits: { messagesPerDay: 10 } });
  world.clock.advance(86_400_000);
  const before = await count();
  const sends = Array.from({ length: 40 }, (_unused, turn) =>
    turn % 4 < 2 ? [send, sendOther] : [sendOther, send],
  ).flat();
  const outcomes = await Promise.allSettled(sends.map((one) => one()));
  const codes = outcomes.map((one) => (one.status === 'fulfilled' ? 'sent' : errorCode(one.reason)));
  assert.deepEqual([...new Set(codes)].toSorted(), ['ORGANIZATION_DAY_FULL', 'sent']);
  assert.equal(codes.filter((code) => code === 'sent').length, 20);
  assert.equal(await count(), before + 20);
  await organizations.update('clinic', { limits: { messagesPerDay: null } });
});

test('the mail server of a sender is told that an organization is closed, and the audit trail has it', async () => {
  await closeOrganization({ ...world, organizations, clients: world.oauth.clients }, 'clinic', 'Closed.');
  const server = await startSmtpListener({
    host: '127.0.0.1',
    port: 0,
    hostname: 'mx.own.example',
    limits: { maxMessageBytes: 10_000, maxConnections: 10, idleMs: 5_000 },
    log: silentLog,
    trust: world.trust,
    messaging: world.messaging,
    disk: { requireRoom() {} },
  });
  const smtp = createSmtpClient({ hostname: 'mx.peer.example', timeoutMs: 5_000 });
  try {
    const { rejected } = await smtp.send({
      host: '127.0.0.1',
      port: server.port,
      mailFrom: 'a@peer.example',
      recipients: [`bob@${domain}`, `nobody@${domain}`],
      message: Buffer.from('From: a@peer.example\r\n\r\nx\r\n'),
    });
    assert.deepEqual(
      rejected.map(({ code, enhancedCode }) => [code, enhancedCode]),
      [
        [550, '5.2.1'],
        [550, '5.2.1'],
      ],
    );
    assert.match(JSON.stringify(rejected), /no longer receives Direct messages/);
  } finally {
    await smtp.close();
    await server.close();
  }
  await world.audit.flush();
  const rows = await world.audit.find({ action: 'message.reject', limit: 10 });
  assert.deepEqual(
    rows.map(({ objects }) => [objects['reason'], objects['to']]),
    [
      ['ORGANIZATION_CLOSED', `nobody@${domain}`],
      ['ORGANIZATION_CLOSED', `bob@${domain}`],
    ],
  );
  await assert.rejects(send(), { code: 'MESSAGING_SENDER_NOT_HOSTED' });
});
