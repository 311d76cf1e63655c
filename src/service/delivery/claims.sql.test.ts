/** A destination that answers again: everything that waits for it becomes due, in steps. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createManualClock } from '../../core/index.ts';
import { createLeases } from '../../platform/index.ts';
import { createClaims } from './claims.ts';
import type { DeliveryTables } from './tables.ts';

const clock = createManualClock(new Date('2026-06-01T12:00:00Z'));
const now = clock.now().getTime();

type Row = DeliveryTables['delivery_destination'];

/** The claims over 25 destinations of one delivery, each with changes to what all have. */
async function startClaims(t: TestContext, changesOf: (index: number) => Partial<Row>) {
  const storage = await openTestStorage({ clock });
  t.after(() => storage.close());
  const db = storage.tables<DeliveryTables>();
  await db
    .insertInto('delivery')
    .values({
      id: 'd',
      kind: 'message',
      sender: 'a@a.example',
      sealed_message: Buffer.of(1),
      created_at: now,
      message_id: 'm',
      destinations: 1,
      size_bytes: 1,
    })
    .execute();
  const rows = Array.from({ length: 25 }, (_, index) => ({
    id: `o${String(index).padStart(2, '0')}`,
    delivery_id: 'd',
    domain: 'back.example',
    recipients: '["b@back.example"]',
    not_after: now + 100_000,
    // The last one is to be tried first.
    next_attempt_at: now + 50_000 - index,
    attempts: 1,
    lease_token: null,
    lease_until: 0,
    last_reason: 'unreachable' as const,
    last_status_code: '',
    last_error: '',
    ...changesOf(index),
  }));
  await db.insertInto('delivery_destination').values(rows).execute();
  const claims = createClaims({
    storage,
    leases: createLeases({ storage, table: 'delivery_destination', leaseMs: 60_000 }),
  });
  return { db, rows, claims };
}

test('all that waits for a destination becomes due in steps, but for what is leased or of others', async (t) => {
  const { db, rows, claims } = await startClaims(t, (index) => ({
    ...(index === 3 && { next_attempt_at: now }),
    ...(index === 7 && { domain: 'other.example' }),
    ...(index === 11 && { lease_token: 'token', lease_until: now + 60_000 }),
  }));
  const listDue = async (): Promise<string[]> => {
    const due = db.selectFrom('delivery_destination').select('id').where('next_attempt_at', '<=', now);
    return (await due.orderBy('id').execute()).map(({ id }) => id);
  };
  assert.equal(await claims.makeOneDue('back.example'), 1);
  assert.deepEqual(await listDue(), ['o03', 'o24']);
  const steps: (string | undefined)[] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    after = await claims.makeDue('back.example', 10, after);
    steps.push(after);
  }
  assert.deepEqual(steps, ['o12', 'o22', undefined]);
  const others = new Set(['o07', 'o11']);
  assert.deepEqual(
    await listDue(),
    rows.map(({ id }) => id).filter((id) => !others.has(id)),
  );
});

test('overdue is what may not be tried any more, but for what is leased or was never tried', async (t) => {
  const { claims } = await startClaims(t, (index) => ({
    not_after: index < 4 ? now - index : now + index,
    ...(index === 1 && { lease_token: 'token', lease_until: now + 60_000 }),
    ...(index === 2 && { attempts: 0 }),
  }));
  const overdue = await claims.claimOverdue(25);
  assert.deepEqual(overdue.map(({ id }) => id).toSorted(), ['o00', 'o03']);
});
