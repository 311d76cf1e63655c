/**
 * Listing dead letters reads those that are listed, and a replay of all does not hold up other writers,
 * however many there are.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { explainStatement, watchStatements } from '../../../test/support/statements.ts';
import { isPostgres, openTestStorage } from '../../../test/support/storage.ts';
import { countStates, storeHook, storeMany } from '../../../test/webhook/many-notifications.ts';
import type { Storage } from '../../platform/index.ts';
import { listDeadLetters, replayDeadLetters } from './dead-letters.ts';

const count = 20_000;

/** A webhook of which every other notification is dead. */
async function openWithDeadLetters(t: TestContext): Promise<Storage> {
  const storage = await openTestStorage();
  t.after(() => storage.close());
  await storeHook(storage);
  await storeMany(storage, count, (at) => ({
    state: at % 2 === 0 ? 'dead' : 'held',
    attempts: 9,
    created_at: count - at,
    settled_at: at,
  }));
  return storage;
}

test('the oldest dead letters of a webhook are read by an index in their order', async (t) => {
  const storage = await openWithDeadLetters(t);
  const { watched, take } = watchStatements(storage);
  const found = await listDeadLetters(watched.tables(), 'h');
  assert.deepEqual(
    found.map(({ eventId }) => eventId),
    Array.from({ length: 200 }, (_, index) => `n${count - 2 - 2 * index}`),
  );
  const statements = take();
  assert.equal(statements.length, 1);
  for (const statement of statements) {
    const plan = (await explainStatement(storage, statement, isPostgres)).join('\n');
    assert.match(plan, /webhook_notification_dead/);
    assert.doesNotMatch(plan, /sort|temp b-tree/i);
  }
});

test('all dead letters are replayed, a limited number per transaction, each with its record', async (t) => {
  const storage = await openWithDeadLetters(t);
  const counts: number[] = [];
  const record = (_tx: unknown, replayed: number): Promise<void> => {
    counts.push(replayed);
    return Promise.resolve();
  };
  assert.equal(await replayDeadLetters(storage, 'h', ['n0', 'n1', 'n2', 'other'], record), 2);
  assert.deepEqual(counts.splice(0), [2]);
  assert.equal(await replayDeadLetters(storage, 'h', undefined, record), count / 2 - 2);
  assert.ok(counts.length > 1 && Math.max(...counts) <= 2000, String(counts));
  assert.equal(
    counts.splice(0).reduce((sum, one) => sum + one),
    count / 2 - 2,
  );
  assert.equal(await replayDeadLetters(storage, 'h', undefined, record), 0);
  assert.deepEqual(counts, [0]);
  assert.deepEqual(await countStates(storage), { held: count / 2, waiting: count / 2 });
});

test('a replay of all continues behind dead letters that another replay takes at the same time', async (t) => {
  const storage = await openWithDeadLetters(t);
  const [taken, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const named = replayDeadLetters(storage, 'h', [`n${count - 2}`], () => {
    taken.resolve();
    return released.promise;
  });
  await taken.promise;
  const all = replayDeadLetters(storage, 'h', undefined);
  await Promise.race([all, sleep(500)]);
  released.resolve();
  assert.deepEqual(await Promise.all([named, all]), [1, count / 2 - 1]);
});
