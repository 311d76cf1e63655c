/**
 * What changes all notifications of a webhook does so in steps, and is completed if its process ends between
 * two.
 */
import assert from 'node:assert/strict';
import { beforeEach, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely, KyselyPlugin } from 'kysely';
import { waitUntil } from '../../../test/messaging/start-messaging.ts';
import { explainStatement, watchStatements } from '../../../test/support/statements.ts';
import { createMigratedDatabase, isPostgres, type TestDatabase } from '../../../test/support/storage.ts';
import { changeHook, countStates, storeHook, storeMany } from '../../../test/webhook/many-notifications.ts';
import { openNode, queueOf, vaultKey, type Node } from '../../../test/webhook/webhook-world.ts';
import { createVault, type Storage } from '../../platform/index.ts';
import type { RowGuard } from '../integrity/index.ts';
import { createWebhookGuard } from './guard.ts';
import type { WebhookRow } from './tables.ts';
import type { NotificationItem } from './store-notifications.ts';
import { holdWaiting, releaseHeld, removeWaiting, retryWaiting } from './waiting-of-hook.ts';

const count = 7000;
const stepSize = 2000;
const hourMs = 3_600_000;

let database: TestDatabase;

beforeEach(async () => {
  database = await createMigratedDatabase();
});

async function open(t: TestContext): Promise<Node & { readonly guard: RowGuard<WebhookRow> }> {
  const node = await openNode(database);
  t.after(() => node.close());
  return { ...node, guard: createWebhookGuard({ vault: createVault(vaultKey), audit: node.audit }) };
}

/** The largest number of notifications that one statement of `work` changed. */
async function largestStep(storage: Storage, work: (watched: Storage) => Promise<unknown>): Promise<number> {
  const steps: number[] = [];
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult({ result }) {
      steps.push(Number(result.numAffectedRows ?? 0));
      return Promise.resolve(result);
    },
  };
  const watched = Object.create(storage, {
    tables: { value: () => storage.tables().withPlugin(counting) },
    transaction: {
      value: (inside: (tx: Kysely<unknown>) => Promise<unknown>) =>
        storage.transaction((tx: Kysely<unknown>) => inside(tx.withPlugin(counting))),
    },
  }) as Storage;
  await work(watched);
  return Math.max(...steps);
}

const enable = (storage: Storage, isEnabled: 0 | 1) =>
  changeHook(storage, { is_enabled: isEnabled, disabled_reason: isEnabled === 1 ? '' : 'failing' });

test('all notifications of a disabled webhook are held, with those whose node ended while it held them', async (t) => {
  const node = await open(t);
  const { storage, webhooks } = node;
  await storeHook(storage, { is_enabled: 0, disabled_reason: 'failing' });
  await storeMany(storage, count, (at) => (at < 10 ? { state: 'held', settled_at: Date.now() } : {}));
  const commits = storage.counts().commits;
  await webhooks.start();
  await waitUntil(async () => (await countStates(storage))['held'] === count);
  assert.ok(storage.counts().commits - commits >= count / stepSize);
  assert.ok((await queueOf(node)).every((row) => row.lease_token === null));
});

test('what waits of a webhook that was enabled before its notification is held stays as it is', async (t) => {
  const node = await open(t);
  const now = node.storage.clock.now().getTime();
  const lease = { lease_token: 'own', lease_until: now + hourMs };
  await storeHook(node.storage);
  await storeMany(node.storage, 10, (at) => (at === 0 ? lease : { next_attempt_at: now + hourMs }));
  const clock = { now: () => new Date() };
  const item = { id: 'n0', party: 'h', token: 'own' } as NotificationItem;
  await holdWaiting({ ...node, clock }, item);
  const rows = (await queueOf(node)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  assert.deepEqual(
    rows.map(({ state, lease_token: token, next_attempt_at: at }) => [state, token, at > now + 60_000]),
    rows.map(({ id }) => ['waiting', null, id !== 'n0']),
  );
});

test('held notifications of a webhook that is enabled become due, in steps', async (t) => {
  const node = await open(t);
  const { storage } = node;
  await storeHook(storage);
  await storeMany(storage, count, () => ({ state: 'held', settled_at: Date.now() }));
  const before = storage.clock.now().getTime();
  const largest = await largestStep(storage, (watched) => releaseHeld({ ...node, storage: watched }, 'h'));
  assert.equal(largest, stepSize);
  const rows = await queueOf(node);
  assert.ok(rows.every((row) => row.state === 'waiting' && row.settled_at === null));
  assert.ok(rows.every((row) => row.next_attempt_at >= before));
});

test('nothing is released of a webhook that is disabled, or whose row was changed by hand', async (t) => {
  for (const hook of [{ is_enabled: 0, disabled_reason: 'client' }, { mac: Buffer.alloc(32) }]) {
    database = await createMigratedDatabase();
    const node = await open(t);
    await storeHook(node.storage, hook);
    await storeMany(node.storage, 10, () => ({ state: 'held', settled_at: Date.now() }));
    await releaseHeld(node, 'h');
    assert.deepEqual(await countStates(node.storage), { held: 10 });
  }
});

test('the notifications of a webhook whose row was changed by hand are held, and that is the end of it', async (t) => {
  const { storage, webhooks } = await open(t);
  await storeHook(storage, { mac: Buffer.alloc(32) });
  await storeMany(storage, 10, () => ({}));
  await webhooks.start();
  await waitUntil(async () => (await countStates(storage))['held'] === 10);
  const transactions = storage.counts().transactions;
  await sleep(300);
  assert.ok(storage.counts().transactions - transactions < 10);
  assert.deepEqual(await countStates(storage), { held: 10 });
});

test('what a process that ended has left held of an enabled webhook is released by a node that starts', async (t) => {
  const { storage, webhooks } = await open(t);
  await storeHook(storage, { is_enabled: 0, disabled_reason: 'failing' });
  await storeMany(storage, count, (at) =>
    at < stepSize
      ? { next_attempt_at: storage.clock.now().getTime() + hourMs }
      : { state: 'held', settled_at: Date.now() },
  );
  await enable(storage, 1);
  await webhooks.start();
  // The target of this webhook has an address that is refused, so that none of them leaves the table.
  await waitUntil(async () => (await countStates(storage))['waiting'] === count);
});

test('notifications that wait for their next attempt become due; those in progress and of others stay as they are', async (t) => {
  const node = await open(t);
  const { storage } = node;
  await storeHook(storage);
  const now = storage.clock.now().getTime();
  // Most are due at the same millisecond.
  await storeMany(storage, count, (at) => ({
    next_attempt_at: now + hourMs + (at < 5000 ? 0 : at),
    ...(at % 1000 === 1 ? { lease_token: 'other', lease_until: now + hourMs } : {}),
    ...(at % 1000 === 2 ? { webhook_id: 'g' } : {}),
    ...(at % 1000 === 3 ? { state: 'dead' } : {}),
  }));
  const commits = storage.counts().commits;
  await retryWaiting(storage, 'h', 'status');
  assert.ok(storage.counts().commits - commits >= count / stepSize);
  const late = (await queueOf(node)).filter((row) => row.next_attempt_at > now + 60_000);
  const kinds = late.map(({ id }) => Number(id.slice(1)) % 1000).toSorted((a, b) => a - b);
  assert.deepEqual(
    kinds,
    [1, 2, 3].flatMap((kind) => Array.from({ length: 7 }, () => kind)),
  );
});

test('what waits for its next attempt is found by the index of what is due, in its order', async (t) => {
  const { storage } = await open(t);
  await storeHook(storage);
  const now = storage.clock.now().getTime();
  await storeMany(storage, count, (at) => ({ next_attempt_at: now + hourMs + at }));
  const { watched, take } = watchStatements(storage);
  await retryWaiting(watched, 'h', 'status');
  const [look] = take();
  assert.ok(look);
  const plan = (await explainStatement(storage, look, isPostgres)).join('\n');
  assert.match(plan, /webhook_notification_due/);
  assert.doesNotMatch(plan, /sort|temp b-tree/i);
});

test('the notifications of a webhook are deleted in steps before it is', async (t) => {
  const node = await open(t);
  const { storage } = node;
  await storeHook(storage);
  await storeMany(storage, count, (at) => (at === 0 ? { webhook_id: 'g' } : {}));
  const largest = await largestStep(storage, (watched) => removeWaiting(watched, 'h'));
  assert.equal(largest, stepSize);
  assert.deepEqual(
    (await queueOf(node)).map(({ id }) => id),
    ['n0'],
  );
});
