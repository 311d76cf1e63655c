import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { storeMany } from '../../../test/webhook/many-notifications.ts';
import { createManualClock } from '../../core/index.ts';
import { measureNotifications } from './measure-notifications.ts';
import type { NotificationRow } from './tables.ts';

const clock = createManualClock(new Date('2026-06-01T12:00:00Z'));
const nowMs = clock.now().getTime();

test('notifications are counted by state, up to a number', async (t) => {
  const storage = await openTestStorage();
  t.after(() => storage.close());
  const none = { count: 0, oldestSeconds: 0 };
  assert.deepEqual(await measureNotifications(storage, clock), [
    { state: 'waiting', ...none },
    { state: 'held', ...none },
    { state: 'dead', ...none },
  ]);
  const settled_at = nowMs;
  const first: readonly Partial<NotificationRow>[] = [
    { created_at: nowMs - 5_000 },
    { kind: 'inbound', created_at: nowMs - 9_000, next_attempt_at: nowMs + 1 },
    { state: 'held', settled_at, created_at: nowMs - 7_000 },
    { state: 'dead', settled_at, created_at: nowMs - 3_000 },
    { state: 'dead', settled_at, created_at: nowMs - 4_000 },
  ];
  await storeMany(storage, first.length, (at) => ({ id: `first${at}`, ...first[at] }));
  const some = [
    { state: 'waiting', count: 2, oldestSeconds: 9 },
    { state: 'held', count: 1, oldestSeconds: 7 },
    { state: 'dead', count: 2, oldestSeconds: 4 },
  ];
  assert.deepEqual(await measureNotifications(storage, clock), some);
  await storeMany(storage, 20_000, () => ({ state: 'dead', settled_at: nowMs + 1, created_at: nowMs }));
  assert.deepEqual(await measureNotifications(storage, clock), [
    ...some.slice(0, 2),
    { state: 'dead', count: 19_999, oldestSeconds: 4 },
  ]);
});
