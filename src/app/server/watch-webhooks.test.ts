import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import { createLog } from '../../platform/index.ts';
import type { WebhookTables } from '../../service/webhook/index.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import { insertWebhook } from '../../../test/support/stored-rows.ts';
import { createWebhookWatch } from './watch-webhooks.ts';

test('a webhook that fails is in the readiness details and in the log once per day, until it works', async (t) => {
  const clock = createManualClock(new Date('2026-11-21T12:00:00Z'));
  const storage = await openTestStorage();
  t.after(() => storage.close());
  const lines: string[] = [];
  const log = createLog({ level: 'info', isReadable: false, write: (line) => lines.push(line) });
  const now = clock.now().getTime();
  const db = storage.tables<WebhookTables>();
  await insertWebhook(storage, {
    id: 'hook1',
    client_id: 'demo',
    url: 'https://edge.example.org/secret-path',
    failing_since: now,
    created_at: now,
  });
  const watch = createWebhookWatch({ storage, clock, log });
  await watch.run();
  assert.deepEqual(watch.degraded(), []);
  clock.advance(600_000);
  await watch.run();
  await watch.run();
  assert.deepEqual(watch.degraded(), [
    {
      part: 'webhooks',
      detail: 'Webhook hook1 of client demo has failed since 2026-11-21T12:00:00.000Z; 0 dead letters.',
    },
  ]);
  assert.equal(lines.length, 1);
  assert.ok(!lines.join('').includes('secret-path'));
  clock.advance(86_400_000);
  await watch.run();
  assert.equal(lines.length, 2);
  await db.updateTable('webhook').set({ failing_since: null }).execute();
  await watch.run();
  assert.deepEqual(watch.degraded(), []);
});
