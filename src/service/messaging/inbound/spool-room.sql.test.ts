import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestStorage } from '../../../../test/support/storage.ts';
import { insertInboundMail } from '../../../../test/support/stored-rows.ts';
import { systemClock } from '../../../core/index.ts';
import { createContentStore, createVault, defaultSettings } from '../../../platform/index.ts';
import type { MessagingTables } from '../tables.ts';
import { createSpoolRoom } from './spool-room.ts';

const mebibyte = 1024 * 1024;

test('a restarted node counts the bytes of the mail that waits, whether in its row or in chunks', async () => {
  const storage = await openTestStorage();
  const db = storage.tables<MessagingTables>();
  const contents = createContentStore({
    storage,
    vault: createVault(Buffer.alloc(32, 1)),
    clock: systemClock,
  });
  for (const [id, sizeBytes] of [
    ['small', 1000],
    ['large', 3 * mebibyte],
  ] as const)
    await insertInboundMail(storage, {
      atMs: 0,
      id,
      sealed_mail: await contents.write(Buffer.alloc(sizeBytes), `inbound:${id}`),
      network: '192.0.2.0/24',
    });
  const room = createSpoolRoom(db, {
    messaging: defaultSettings.messaging,
    admission: { ...defaultSettings.admission, maxWaitingMailBytesPerNetwork: 4 * mebibyte },
  });
  await room.restore();
  assert.equal(room.mails, 2);
  assert.ok(room.bytes >= 3 * mebibyte + 1000 && room.bytes < 3 * mebibyte + 1200, `${room.bytes}`);
  const offer = { network: '192.0.2.0/24', sizeBytes: mebibyte };
  assert.throws(() => room.check(offer), { code: 'MESSAGING_SPOOL_FULL' });
  await db.deleteFrom('inbound_mail').where('id', '=', 'large').execute();
  await room.refresh();
  room.check(offer);
  assert.ok(room.bytes < 1200, `${room.bytes}`);
  await storage.close();
});

test('mail that a worker found to be of an unknown sender counts as such from then on', async (t) => {
  const storage = await openTestStorage();
  t.after(() => storage.close());
  const { admission, messaging } = defaultSettings;
  const room = createSpoolRoom(storage.tables<MessagingTables>(), {
    admission,
    messaging: { ...messaging, maxUndecidedPerNetwork: 1 },
  });
  const network = '192.0.2.0/24';
  const enter = () => room.enter({ network, sizeBytes: 1 });
  const known = enter();
  known.wait('back.example', false);
  known.keep('moved');
  await insertInboundMail(storage, { atMs: 0, id: 'moved', network, needs_fetch: 1 });
  await room.refresh();
  assert.throws(() => enter().wait('other.example', true), { code: 'MESSAGING_SPOOL_FULL' });
});
