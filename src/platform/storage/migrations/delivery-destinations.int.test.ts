import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../../../test/support/storage.ts';
import { migrations } from './index.ts';

interface OldTables {
  delivery: {
    id: string;
    kind: string;
    sender: string;
    sealed_message: Uint8Array | null;
    created_at: number;
    not_after: number;
    next_attempt_at: number;
    attempts: number;
    lease_owner: string | null;
    lease_until: number;
    is_done: number;
  };
  delivery_recipient: {
    delivery_id: string;
    address: string;
    state: string;
    last_error: string;
    decided_at: number | null;
  };
}

interface NewTables {
  delivery: { id: string; message_id: string; destinations: number; sealed_message: Uint8Array };
  delivery_destination: {
    id: string;
    delivery_id: string;
    domain: string;
    recipients: string;
    attempts: number;
    next_attempt_at: number;
    not_after: number;
    lease_token: string | null;
  };
}

test('0040: undecided recipients become rows per destination; decided ones are deleted', async () => {
  const database = await createTestDatabase();
  const at = migrations.findIndex(({ name }) => name === '0040-delivery-destinations');
  const older = await database.open({ migrations: migrations.slice(0, at) });
  await older.migrate();
  const delivery = {
    kind: 'message',
    sender: 's@own.example',
    created_at: 1,
    not_after: 5_000,
    next_attempt_at: 2_000,
    attempts: 3,
    lease_owner: 'gone',
    lease_until: 9,
  };
  await older
    .tables<OldTables>()
    .insertInto('delivery')
    .values([
      { ...delivery, id: 'open', sealed_message: Buffer.from('sealed'), is_done: 0 },
      { ...delivery, id: 'done', sealed_message: null, is_done: 1 },
    ])
    .execute();
  const recipient = (delivery_id: string, address: string, state: string) => ({
    delivery_id,
    address,
    state,
    last_error: state === 'pending' ? '451 Later' : '',
    decided_at: null,
  });
  await older
    .tables<OldTables>()
    .insertInto('delivery_recipient')
    .values([
      recipient('open', 'a@One.example', 'pending'),
      recipient('open', 'b@one.example', 'pending'),
      recipient('open', 'c@two.example', 'pending'),
      recipient('open', 'd@three.example', 'sent'),
      recipient('done', 'a@one.example', 'sent'),
    ])
    .execute();
  await older.close();

  const storage = await database.open();
  await storage.migrate();
  const db = storage.tables<NewTables>();
  const deliveries = await db.selectFrom('delivery').selectAll().execute();
  assert.deepEqual(
    deliveries.map((row) => [
      row.id,
      row.message_id,
      row.destinations,
      Buffer.from(row.sealed_message).toString(),
    ]),
    [['open', 'open', 2, 'sealed']],
  );
  const destinations = await db.selectFrom('delivery_destination').selectAll().orderBy('domain').execute();
  assert.deepEqual(
    destinations.map((row) => [
      row.delivery_id,
      row.domain,
      (JSON.parse(row.recipients) as string[]).toSorted(),
      row.attempts,
      row.next_attempt_at,
      row.not_after,
      row.lease_token,
    ]),
    [
      ['open', 'one.example', ['a@One.example', 'b@one.example'], 3, 2_000, 5_000, null],
      ['open', 'two.example', ['c@two.example'], 3, 2_000, 5_000, null],
    ],
  );
  await storage.close();
});
