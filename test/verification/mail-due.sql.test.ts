/** When mail waits for this service, so that verification gives way, and when it waits for somebody else. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { Insertable } from 'kysely';
import type { Storage } from '../../src/platform/index.ts';
import { isMailDue, type DeliveryTables } from '../../src/service/delivery/index.ts';
import { isInboundMailDue, type MessagingTables } from '../../src/service/messaging/index.ts';
import { openTestStorage } from '../support/storage.ts';

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

async function queue(changes: Partial<DeliveryTables['delivery_destination']> = {}): Promise<void> {
  const id = String(++ids);
  const db = storage.tables<DeliveryTables>();
  await db
    .insertInto('delivery')
    .values({
      id,
      kind: 'message',
      sender: 'a@one.example',
      sealed_message: new Uint8Array(1),
      created_at: now,
      message_id: id,
      destinations: 1,
      size_bytes: 1,
    })
    .execute();
  await db
    .insertInto('delivery_destination')
    .values({
      id,
      delivery_id: id,
      domain: 'two.example',
      recipients: '["b@back.example"]',
      not_after: now + 1e6,
      next_attempt_at: now,
      attempts: 0,
      lease_token: null,
      lease_until: 0,
      last_reason: '',
      last_status_code: '',
      last_error: '',
      ...changes,
    })
    .execute();
}

async function receive(changes: Partial<Insertable<MessagingTables['inbound_mail']>> = {}): Promise<void> {
  const id = String(++ids);
  await storage
    .tables<MessagingTables>()
    .insertInto('inbound_mail')
    .values({
      id,
      mail_from: 'b@two.example',
      recipients: '["b@back.example"]',
      sealed_mail: new Uint8Array(1),
      content_hash: id,
      network: '',
      sender_domain: 'two.example',
      party: 'p',
      needs_fetch: 0,
      state: 'waiting',
      attempts: 0,
      next_attempt_at: now,
      lease_token: null,
      lease_until: 0,
      last_error: '',
      received_at: now,
      ...changes,
    })
    .execute();
}

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
