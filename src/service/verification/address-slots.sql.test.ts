import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createAddressStates } from './address-slots.ts';
import type { VerificationTables } from './tables.ts';

test('many states are read in several turns of the event loop', async () => {
  const storage = await openTestStorage();
  try {
    const pages = 8;
    for (let page = 0; page < pages; page++) {
      const rows = Array.from({ length: 1000 }, (_, at) => ({
        address_key: `a${page}-${at}@d.example`,
        domain: 'd.example',
        state: 'trusted' as const,
        reason: '',
        checked_at: 1,
        changed_at: 1,
      }));
      await storage.tables<VerificationTables>().insertInto('verification_address').values(rows).execute();
    }
    const states = createAddressStates(storage);
    let turns = 0;
    let isReading = true;
    const count = (): void => {
      turns++;
      if (isReading) setImmediate(count);
    };
    setImmediate(count);
    await states.refresh();
    isReading = false;
    assert.ok(turns >= pages, `${turns} turns`);
    assert.equal(states.read(states.slotOf('a7-999@d.example')).state, 'trusted');
  } finally {
    await storage.close();
  }
});

test('it is empty until an address is checked, however many have processed a message', async (t) => {
  const storage = await openTestStorage();
  t.after(() => storage.close());
  const db = storage.tables<VerificationTables>();
  const address_key = 'a@d.example';
  await db
    .insertInto('verification_processed')
    .values({ address_key, month: 202_606, changed_at: 1 })
    .execute();
  const processed = createAddressStates(storage);
  await processed.refresh();
  assert.equal(processed.read(processed.slotOf(address_key)).processedMonth, '2026-06');
  assert.equal(processed.isEmpty, true);
  const row = {
    address_key,
    domain: 'd.example',
    state: 'trusted',
    reason: '',
    checked_at: 1,
    changed_at: 1,
  } as const;
  await db.insertInto('verification_address').values(row).execute();
  const checked = createAddressStates(storage);
  await checked.refresh();
  assert.equal(checked.isEmpty, false);
});
