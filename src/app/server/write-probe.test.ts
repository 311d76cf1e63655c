import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createWriteProbe, checkWritable } from './write-probe.ts';

const start = new Date('2026-06-01T00:00:00Z');

test('a writable database is ready; a closed one is not', async () => {
  const storage = await openTestStorage();
  const check = createWriteProbe(() => checkWritable(storage), createManualClock(start));
  await check();
  await storage.close();
  await assert.rejects(check);
  await assert.rejects(check);
});

test('a write that waits its turn is no failure for a minute, and is not started twice', async () => {
  const clock = createManualClock(start);
  const { promise, resolve } = Promise.withResolvers<void>();
  let writes = 0;
  const check = createWriteProbe(() => {
    writes++;
    return promise;
  }, clock);
  await Promise.all([check(), check()]);
  clock.advance(61_000);
  await assert.rejects(check, /could not be written for a minute/);
  assert.equal(writes, 1);
  resolve();
  await promise;
  await check();
  assert.equal(writes, 2);
});
