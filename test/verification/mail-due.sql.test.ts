/** When mail waits for this service, so that verification gives way, and when it waits for somebody else. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { Insertable } from 'kysely';
import type { Storage } from '../../src/platform/index.ts';
import { isMailDue, type DeliveryTables } from '../../src/service/delivery/index.ts';
import { isInboundMailDue, type MessagingTables } from '../../src/service/messaging/index.ts';
import { openTestStorage } from '../support/storage.ts';
import { insertDelivery, insertInboundMail } from '../support/stored-rows.ts';

let storage: Storage;
let now: number;
let ids = 0;

before(async () => {
  storage = await openTestStorage();
});
after(() => storage.close());
beforeEach(async () => {
  now = storage.clock.now().getTime();
  const db = storage.tables<DeliveryTables & MessagingTables>();
  for (const table of ['delivery_destination', 'delivery', 'delivery_hold', 'inbound_mail'] as const)
    await db.deleteFrom(table).execute();
});

const queue = (changes: Partial<DeliveryTables['delivery_destination']> = {}): Promise<void> =>
  insertDelivery(storage, { ...changes, atMs: now, id: String(++ids) });

const receive = (changes: Partial<Insertable<MessagingTables['inbound_mail']>> = {}): Promise<void> =>
  insertInboundMail(storage, { id: String(++ids), ...changes, atMs: now });

test('outgoing mail that is due and in nobody’s hands waits', async () => {
  assert.equal(await isMailDue(storage), false);
  await queue({ next_attempt_at: now + 60_000 });
  await queue({ lease_token: 'of a node', lease_until: now + 60_000 });
  assert.equal(await isMailDue(storage), false);
  await queue();
  assert.equal(await isMailDue(storage), true);
});

test('mail for a destination on hold, or that failed lately, waits for its peer', async () => {
  await queue();
  await queue({ last_reason: 'unreachable' as never, next_attempt_at: now + 60_000 });
  assert.equal(await isMailDue(storage), false);
  await queue({ domain: 'held.example' });
  assert.equal(await isMailDue(storage), true);
  await storage
    .tables<DeliveryTables>()
    .insertInto('delivery_hold')
    .values({ domain: 'held.example', reason: 'test', author: 'operator:jo', ends_at: null, created_at: now })
    .execute();
  assert.equal(await isMailDue(storage), false);
});

test('incoming mail that is due and in nobody’s hands waits, dead letters do not', async () => {
  await receive({ state: 'dead-letter' });
  await receive({ next_attempt_at: now + 60_000 });
  await receive({ lease_token: 'of a node', lease_until: now + 60_000 });
  assert.equal(await isInboundMailDue(storage), false);
  await receive();
  assert.equal(await isInboundMailDue(storage), true);
});
