import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, describe, test, type TestContext } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import { waitUntil } from '../../../test/messaging/start-messaging.ts';
import { createMigratedDatabase, type TestDatabase } from '../../../test/support/storage.ts';
import {
  attemptsOf,
  notify,
  openNode,
  queueOf,
  settledOf,
  startReceiver,
  vaultKey,
  type Node,
  type NodeOptions,
  type Receiver,
} from '../../../test/webhook/webhook-world.ts';
import type { WebhookTables } from './tables.ts';

let receiver: Receiver;
let database: TestDatabase;

before(async () => {
  receiver = await startReceiver();
});
after(() => receiver.close());
beforeEach(async () => {
  database = await createMigratedDatabase();
  receiver.received.length = 0;
  receiver.isOver = false;
});

async function open(t: TestContext, options: NodeOptions = {}): Promise<Node> {
  const node = await openNode(database, options);
  t.after(async () => {
    receiver.isOver = true;
    for (const { answer } of receiver.received) answer(204);
    await node.close();
  });
  return node;
}

const createHook = async (node: Node, clientId: string, target: string) =>
  (await node.webhooks.create(clientId, { url: receiver.url(target) })).webhook.id;
const isEmpty = (node: Node) => async () => (await queueOf(node)).length === 0;

describe('a webhook that fails on one node and works on another', () => {
  test('is not disabled by the node that has only seen it fail', async (t) => {
    const clock = createManualClock(new Date('2026-11-21T12:00:00Z'));
    const options = { clock, storageClock: clock, disableAfterMs: 3_600_000 };
    const [failing, working] = [await open(t, options), await open(t, options)];
    const id = await createHook(failing, 'clinic', '/hook');
    const hook = async (node: Node) =>
      node.storage.tables<WebhookTables>().selectFrom('webhook').selectAll().executeTakeFirstOrThrow();
    const send = async (node: Node, status: number): Promise<void> => {
      const count = receiver.received.length;
      await notify(node, 'clinic');
      await waitUntil(() => receiver.received.length > count, 'the notification');
      const before = (await attemptsOf(node)).length;
      receiver.received.at(-1)?.answer(status);
      if (status === 500)
        await waitUntil(async () => (await attemptsOf(node)).length > before, 'the attempt');
      else await waitUntil(async () => (await hook(node)).last_success_at !== null, 'the success');
    };
    await failing.webhooks.start();
    await send(failing, 500);
    assert.equal((await hook(failing)).failing_since, clock.now().getTime());
    // This node reads the webhook for the first time.
    await send(working, 204);
    assert.equal((await hook(failing)).failing_since, null);
    // Within five seconds the other one still believes that every attempt has failed.
    clock.advance(7_200_000);
    receiver.received.length = 0;
    await waitUntil(() => receiver.received.length === 1, 'the retry');
    receiver.received.at(-1)?.answer(500);
    await waitUntil(async () => (await attemptsOf(failing)).length === 2, 'the second failure');
    const { is_enabled: isEnabled, disabled_reason: reason } = await hook(failing);
    assert.deepEqual([id === '', isEnabled, reason], [false, 1, '']);
  });
});

describe('fair shares', () => {
  test('whole messages are pushed as long as their memory is free; small ones do not wait for large ones', async (t) => {
    const node = await open(t, { maxContentBytes: 100_000_000 });
    node.webhooks.serveInbound({
      requireReceiver: async () => {},
      measure: async (ids) => new Map(ids.map((id) => [id, id.startsWith('large') ? 10_000_000 : 1_000])),
      buildPayload: async () => Buffer.from('{}'),
      acknowledge: async () => {},
    });
    const push = async (clientId: string, copyId: string): Promise<void> => {
      await node.webhooks.create(clientId, { kind: 'inbound', url: receiver.url(`/${copyId}`) });
      await node.storage.transaction((tx) => node.webhooks.notifyInboundIn(tx, clientId, copyId));
    };
    // Each takes 25 MB, and half of the memory is for webhooks that answer.
    for (let number = 1; number <= 3; number++) await push(`clinic ${number}`, `large-${number}`);
    await push('another clinic', 'small');
    await node.webhooks.start();
    const began = (): readonly string[] => receiver.received.map(({ path: target }) => target);
    await waitUntil(() => began().length === 3, 'what fits');
    assert.deepEqual(began().toSorted(), ['/large-1', '/large-2', '/small']);
    receiver.received[0]?.answer(204);
    await waitUntil(() => began().includes('/large-3'), 'the one that waited');
  });

  test("15 webhooks of one client that never answer do not keep another client's event waiting", async (t) => {
    const node = await open(t);
    await node.webhooks.start();
    for (let index = 0; index < 15; index++) await createHook(node, 'slow', `/silent${index}`);
    await createHook(node, 'other', '/ok');
    await notify(node, 'slow', 20);
    await waitUntil(() => receiver.received.length >= 8);
    await notify(node, 'other');
    await waitUntil(() => receiver.at('/ok').length === 1, "the other client's event");
    // No attempt of the others had to end first.
    assert.deepEqual(
      (await attemptsOf(node)).filter((attempt) => attempt.error !== ''),
      [],
    );
  });

  test('one silent webhook of a client leaves room for its other ones', async (t) => {
    const node = await open(t);
    await node.webhooks.start();
    await createHook(node, 'clinic', '/silent');
    await createHook(node, 'clinic', '/ok');
    await notify(node, 'clinic', 40);
    await waitUntil(() => receiver.at('/ok').length === 40);
  });

  test('5,000 notifications of an unreachable webhook delay no other webhook, are tried rarely, and stay in the table', async (t) => {
    const node = await open(t);
    await createHook(node, 'dead', '/bad');
    await createHook(node, 'other', '/ok');
    for (let done = 0; done < 5000; done += 500) await notify(node, 'dead', 500);
    await node.webhooks.start();
    await waitUntil(() => receiver.at('/bad').length >= 5);
    for (let done = 0; done < 20; done++) await notify(node, 'other');
    await waitUntil(() => receiver.at('/ok').length === 20);
    const rows = (await queueOf(node)).filter((row) => row.client_id === 'dead');
    assert.equal(rows.filter(({ state }) => state === 'waiting').length, 5000);
    const tokens = rows.flatMap((row) => row.lease_token ?? []);
    assert.ok(tokens.length <= 64);
    // So the next run of this node takes back what this one had claimed.
    const { nodeId, runId } = node.storage.run;
    assert.ok(tokens.every((token) => token.startsWith(`${nodeId}/${runId}/`)));
    assert.ok(receiver.at('/bad').length < 100, `${receiver.at('/bad').length} calls`);
  });

  test('a webhook that accepts and says nothing is retried later, with the same id', async (t) => {
    const clock = createManualClock(new Date('2026-11-21T12:00:00Z'));
    const node = await open(t, { clock, storageClock: clock, postTimeoutMs: 1000 });
    await node.webhooks.start();
    const id = await createHook(node, 'clinic', '/silent');
    await notify(node, 'clinic');
    await waitUntil(async () => (await attemptsOf(node)).length === 1);
    const [attempt] = await attemptsOf(node);
    assert.deepEqual(
      [attempt?.webhook_id, attempt?.error, attempt?.http_status, attempt?.attempt],
      [id, 'FETCH_TIMEOUT', null, 1],
    );
    assert.ok((attempt?.duration_ms ?? 0) >= 990);
    clock.advance(5000);
    await waitUntil(() => receiver.received.length === 2);
    const [first, second] = receiver.received;
    assert.equal(first?.eventId, second?.eventId);
    assert.deepEqual([first?.attempt, second?.attempt], [1, 2]);
    second?.answer(200);
    await waitUntil(isEmpty(node));
    assert.deepEqual(
      (await attemptsOf(node)).map(({ attempt: number, error, http_status: status }) => [
        number,
        error,
        status,
      ]),
      [
        [1, 'FETCH_TIMEOUT', null],
        [2, '', 200],
      ],
    );
    assert.notEqual((await node.webhooks.hooks.get('clinic', id)).lastSuccessAt, undefined);
  });
});

describe('leases', () => {
  test('a node that loses its lease while it posts writes nothing, and both posts carry the same id', async (t) => {
    const late = { now: () => new Date(Date.now() - 600_000) };
    const loser = await open(t, { storageClock: late });
    const winner = await open(t);
    await createHook(loser, 'clinic', '/hold');
    await loser.webhooks.start();
    await notify(loser, 'clinic');
    await waitUntil(() => receiver.received.length === 1);
    // By the clock of the other node that lease ended long ago.
    await winner.webhooks.start();
    await waitUntil(() => receiver.received.length === 2);
    const [first, second] = receiver.received;
    assert.equal(first?.eventId, second?.eventId);
    second?.answer(200);
    await waitUntil(isEmpty(winner));
    first?.answer(500);
    await waitUntil(() => loser.logLines.some((line) => line.includes('a lease was lost')));
    assert.deepEqual(await attemptsOf(winner), []);
    assert.equal((await settledOf(winner, first?.eventId ?? '')).length, 1);
    assert.deepEqual(await queueOf(winner), []);
  });

  test('a node killed between its post and its result: the notification comes again with the same id', async (t) => {
    const node = await open(t, { leaseMs: 1000 });
    await createHook(node, 'clinic', '/hold');
    await notify(node, 'clinic');
    const child = await startChild(t);
    await waitUntil(() => receiver.received.length === 1);
    child.process.kill('SIGKILL');
    await once(child.process, 'exit');
    await node.webhooks.start();
    await waitUntil(() => receiver.received.length === 2, 'the second post');
    const [first, second] = receiver.received;
    assert.equal(first?.eventId, second?.eventId);
    second?.answer(200);
    await waitUntil(isEmpty(node));
    assert.equal((await settledOf(node, first?.eventId ?? '')).length, 1);
  });

  test('two nodes share a queue, and nothing is sent twice', async (t) => {
    const nodes = [await open(t), await open(t)] as const;
    await createHook(nodes[0], 'clinic', '/ok');
    await notify(nodes[0], 'clinic', 200);
    await Promise.all(nodes.map(({ webhooks }) => webhooks.start()));
    await waitUntil(isEmpty(nodes[0]));
    assert.equal(receiver.received.length, 200);
    assert.equal(new Set(receiver.received.map(({ eventId }) => eventId)).size, 200);
  });
});

describe('webhooks of a client', () => {
  test('a disabled webhook is not called; waiting events are sent when it is enabled again', async (t) => {
    const clock = createManualClock(new Date('2026-11-21T12:00:00Z'));
    const node = await open(t, { clock, storageClock: clock });
    await node.webhooks.start();
    const id = await createHook(node, 'clinic', '/bad');
    await notify(node, 'clinic', 3);
    await waitUntil(async () => (await attemptsOf(node)).length === 3);
    await node.webhooks.update('clinic', id, { enabled: false });
    clock.advance(60_000);
    await waitUntil(async () => (await queueOf(node)).every(({ state }) => state === 'held'));
    await notify(node, 'clinic');
    assert.equal((await queueOf(node)).length, 3);
    assert.equal(receiver.received.length, 3);
    await node.webhooks.update('clinic', id, { enabled: true, url: receiver.url('/ok') });
    await waitUntil(isEmpty(node));
    assert.equal(receiver.at('/ok').length, 3);
  });

  test('deletes the waiting notifications of a removed webhook', async (t) => {
    const node = await open(t);
    const id = await createHook(node, 'clinic', '/ok');
    await notify(node, 'clinic', 2);
    await node.webhooks.hooks.remove('clinic', id);
    assert.deepEqual(await queueOf(node), []);
    await node.storage
      .tables<WebhookTables>()
      .insertInto('webhook_notification')
      .values(orphan(node.storage.clock.now().getTime()))
      .execute();
    await node.webhooks.start();
    await waitUntil(isEmpty(node));
    assert.deepEqual(receiver.received, []);
  });

  test('are twenty at most, however many nodes create them at once', async (t) => {
    const nodes = [await open(t), await open(t)] as const;
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => createHook(nodes[index % 2 === 0 ? 0 : 1], 'clinic', '/ok')),
    );
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 20);
    assert.equal((await nodes[0].webhooks.hooks.list('clinic')).length, 20);
  });

  test('secrets rotated on two nodes at once: the last two sign', async (t) => {
    const nodes = [await open(t), await open(t)] as const;
    const id = await createHook(nodes[0], 'clinic', '/ok');
    await Promise.all(nodes.map(({ webhooks }) => webhooks.hooks.rotateSecret('clinic', id)));
    const row = await nodes[0].storage
      .tables<WebhookTables>()
      .selectFrom('webhook')
      .selectAll()
      .executeTakeFirstOrThrow();
    assert.notDeepEqual(row.sealed_secret, row.sealed_previous_secret);
  });

  test('a webhook created on one node is notified of by another within seconds', async (t) => {
    const nodes = [await open(t), await open(t)] as const;
    await nodes[1].webhooks.start();
    await notify(nodes[1], 'clinic');
    assert.deepEqual(await queueOf(nodes[1]), []);
    await createHook(nodes[0], 'clinic', '/ok');
    await waitUntil(async () => {
      await notify(nodes[1], 'clinic');
      return receiver.received.length > 0;
    });
  });
});

describe('retention', () => {
  test('dead notifications and attempts are deleted after their time, more of them than one batch', async (t) => {
    const clock = createManualClock(new Date('2026-11-21T12:00:00Z'));
    const node = await open(t, {
      clock,
      retention: { deadLetterDays: 2, attemptDays: 1 },
    });
    const id = await createHook(node, 'clinic', '/ok');
    await notify(node, 'clinic', 700);
    const db = node.storage.tables<WebhookTables>();
    await db
      .updateTable('webhook_notification')
      .set({ state: 'dead', settled_at: clock.now().getTime() })
      .execute();
    await node.storage.transaction(async (tx) => {
      await node.storage.bulkInsert(tx, {
        table: 'webhook_attempt',
        columns: [
          'id',
          'webhook_id',
          'notification_id',
          'message_id',
          'attempt',
          'http_status',
          'error',
          'attempted_at',
          'duration_ms',
        ],
        rows: Array.from({ length: 600 }, (_, index) => [
          `a${index}`,
          id,
          'n',
          'm',
          1,
          500,
          'HTTP 500',
          clock.now().getTime(),
          5,
        ]),
      });
    });
    clock.advance(86_400_001);
    await node.webhooks.start();
    await waitUntil(async () => (await attemptsOf(node)).length === 0);
    assert.equal((await queueOf(node)).length, 700);
    await node.webhooks.close();
    clock.advance(86_400_001);
    await node.webhooks.start();
    await waitUntil(isEmpty(node));
  });
});

interface Child {
  readonly process: ChildProcess;
  readonly lines: string[];
}

const program = path.resolve(import.meta.dirname, '../../../test/webhook/webhook-child.ts');

async function startChild(t: TestContext): Promise<Child> {
  const options = { location: database.location, vaultKey: vaultKey.toString('base64'), leaseMs: 1000 };
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await waitUntil(() => lines.includes('ready') || child.exitCode !== null, 'the child');
  return { process: child, lines };
}

function orphan(now: number): WebhookTables['webhook_notification'] {
  return {
    id: 'orphan',
    webhook_id: 'removed',
    client_id: 'clinic',
    kind: 'status',
    event_type: 'message.processed',
    subject: 'urn:uuid:x',
    payload: '{"a":1}',
    state: 'waiting',
    attempts: 0,
    next_attempt_at: now,
    lease_token: null,
    lease_until: 0,
    last_status: null,
    last_error: '',
    created_at: now,
    settled_at: null,
  };
}
