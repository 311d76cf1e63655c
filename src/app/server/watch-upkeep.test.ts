import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessagingTables } from '../../service/messaging/index.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import { insertDeadLetter } from '../../../test/support/stored-rows.ts';
import type { Health } from '../../service/trust/index.ts';
import { createUpkeepWatch } from './watch-upkeep.ts';

test('bundles that are not refreshed and dead-lettered mail are readiness details until they are repaired', async (t) => {
  const storage = await openTestStorage();
  t.after(() => storage.close());
  const bundle = {
    id: 'b1',
    domain: 'direct.example.org',
    direction: 'both' as const,
    url: 'https://user:secret@bundles.example/a.p7b',
    anchorCount: 1,
    refreshedAt: new Date('2026-06-09T00:00:00Z'),
    nextRefreshAt: new Date(0),
    createdAt: new Date(0),
    refreshSeconds: 86_400,
    checksum: '',
    lastError: '',
    health: { level: 'ok', text: '' } as Health,
  };
  let bundles: readonly (typeof bundle)[] = [bundle];
  const watch = createUpkeepWatch({ storage, trust: { listBundles: async () => bundles } });
  await watch.run();
  assert.deepEqual(watch.degraded(), []);
  bundles = [
    bundle,
    { ...bundle, lastError: 'timeout', health: { level: 'failed', text: '' } },
    { ...bundle, refreshedAt: new Date(0), health: { level: 'warning', text: '' } },
    { ...bundle, health: { level: 'waiting', text: '' } },
  ];
  const mail = storage.tables<MessagingTables>();
  await insertDeadLetter(storage, { receivedMs: 0, recipients: ['b@back.example'] });
  await watch.run();
  const stale = (last: string) => ({
    part: 'bundles',
    detail: `A trust bundle of direct.example.org is not refreshed; last: ${last}.`,
  });
  assert.deepEqual(watch.degraded(), [
    stale('2026-06-09T00:00:00.000Z'),
    stale('1970-01-01T00:00:00.000Z'),
    { part: 'mail', detail: '1 inbound messages are dead letters.' },
  ]);
  bundles = [bundle];
  await mail.deleteFrom('inbound_mail').execute();
  await watch.run();
  assert.deepEqual(watch.degraded(), []);
});
