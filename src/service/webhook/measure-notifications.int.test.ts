import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock } from '../../core/index.ts';
import { measureNotifications } from './measure-notifications.ts';
import type { NotificationRow, WebhookTables } from './tables.ts';

const clock = createManualClock(new Date('2026-06-01T12:00:00Z'));
const nowMs = clock.now().getTime();

const rowOf = (id: string, changes: Partial<NotificationRow>): NotificationRow => ({
  id,
  webhook_id: 'h',
  client_id: 'c',
  kind: 'status',
  event_type: 'message.sent',
  subject: 'm',
  payload: '{}',
  state: 'waiting',
  attempts: 0,
  next_attempt_at: nowMs,
  lease_token: null,
  lease_until: 0,
  last_status: null,
  last_error: '',
  created_at: nowMs,
  settled_at: null,
  ...changes,
});

test('notifications are counted by state, up to a number', async (t) => {
  const storage = await openTestStorage();
  t.after(() => storage.close());
  const db = storage.tables<WebhookTables>();
  const none = { count: 0, oldestSeconds: 0 };
  assert.deepEqual(await measureNotifications(storage, clock), [
    { state: 'waiting', ...none },
    { state: 'held', ...none },
    { state: 'dead', ...none },
  ]);
  const settled_at = nowMs;
  await db
    .insertInto('webhook_notification')
    .values([
      rowOf('a', { created_at: nowMs - 5_000 }),
      rowOf('b', { kind: 'inbound', created_at: nowMs - 9_000, next_attempt_at: nowMs + 1 }),
      rowOf('c', { state: 'held', settled_at, created_at: nowMs - 7_000 }),
      rowOf('d', { state: 'dead', settled_at, created_at: nowMs - 3_000 }),
      rowOf('e', { state: 'dead', settled_at, created_at: nowMs - 4_000 }),
    ])
    .execute();
  const some = [
    { state: 'waiting', count: 2, oldestSeconds: 9 },
    { state: 'held', count: 1, oldestSeconds: 7 },
    { state: 'dead', count: 2, oldestSeconds: 4 },
  ];
  assert.deepEqual(await measureNotifications(storage, clock), some);
  await storage.transaction((tx) => {
    const { id: _, ...row } = rowOf('', { state: 'dead', settled_at: nowMs + 1 });
    const columns = Object.keys(row) as (keyof typeof row)[];
    const rows = Array.from({ length: 20_000 }, (_value, index) => [
      `n${index}`,
      ...columns.map((column) => row[column]),
    ]);
    return storage.bulkInsert(tx, { table: 'webhook_notification', columns: ['id', ...columns], rows });
  });
  assert.deepEqual(await measureNotifications(storage, clock), [
    ...some.slice(0, 2),
    { state: 'dead', count: 19_999, oldestSeconds: 4 },
  ]);
});
