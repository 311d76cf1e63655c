import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createManualClock, silentLog } from '../../core/index.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createProcessedNotes } from './processed.ts';
import type { VerificationTables } from './tables.ts';

const dayMs = 86_400_000;

it('the month of an address is written once, renewed by later messages, and deleted three years after the last', async () => {
  const clock = createManualClock(new Date('2026-01-10T00:00:00Z'));
  const storage = await openTestStorage({ clock });
  const rows = async () =>
    (
      await storage
        .tables<VerificationTables>()
        .selectFrom('verification_processed')
        .select(['address_key', 'month'])
        .orderBy('address_key')
        .execute()
    ).map(({ address_key, month }) => [address_key, Number(month)]);
  /** By a node that ends afterwards, which writes what waits. */
  const note = async (...addresses: readonly string[]): Promise<void> => {
    const notes = createProcessedNotes({ storage, clock, log: silentLog, keepDays: 1098 });
    for (const address of addresses) notes.note(address);
    await notes.close();
  };
  await note(...Array.from({ length: 450 }, (_, at) => `old${at}@a.example`), 'kept@a.example');
  clock.advance(700 * dayMs);
  await note('kept@a.example');
  assert.equal((await rows()).length, 451);
  clock.advance(500 * dayMs);
  await note('new@a.example');
  assert.deepEqual(await rows(), [
    ['kept@a.example', 202_712],
    ['new@a.example', 202_904],
  ]);
  await storage.close();
});
