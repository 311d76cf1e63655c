import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import { openTestStorage } from '../../../test/support/storage.ts';
import { createWriteProbe, checkWritable } from './write-probe.ts';

const start = new Date('2026-06-01T00:00:00Z');

test('a writable database is ready; a closed one is not', async () => {
  const storage = await openTestStorage();
  const { check } = createWriteProbe(() => checkWritable(storage), createManualClock(start));
  await check();
  await storage.close();
  await assert.rejects(check);
  await assert.rejects(check);
});

test('a write that does not end makes it unready within 5 s, until one has succeeded', async () => {
  const clock = createManualClock(start);
  const writes: PromiseWithResolvers<void>[] = [];
  const { check, isStuck } = createWriteProbe(() => {
    const write = Promise.withResolvers<void>();
    writes.push(write);
    return write.promise;
  }, clock);
  await Promise.all([check(), check()]);
  assert.equal(isStuck(), false);
  clock.advance(5_000);
  await assert.rejects(check, /does not end/);
  assert.equal(isStuck(), true);
  assert.equal(writes.length, 1);
  // The write fails at last, and the next one hangs as well.
  writes[0]?.reject(new Error('no answer'));
  await assert.rejects(check, /no answer/);
  await assert.rejects(check, /no answer/);
  assert.equal(writes.length, 2);
  assert.equal(isStuck(), true);
  writes[1]?.resolve();
  await check();
  assert.equal(isStuck(), false);
});

test('requests alone find out that writes do not end, and that they do again', async () => {
  const clock = createManualClock(start);
  let write = Promise.withResolvers<void>();
  const { isStuck } = createWriteProbe(() => write.promise, clock);
  assert.equal(isStuck(), false);
  clock.advance(5_000);
  assert.equal(isStuck(), true);
  write.resolve();
  await write.promise;
  await Promise.resolve();
  assert.equal(isStuck(), false);
  write = Promise.withResolvers();
  clock.advance(3_000);
  assert.equal(isStuck(), false);
  clock.advance(5_000);
  assert.equal(isStuck(), true);
});

test('a write that waits for its turn longer than usual is no failure where turns are long', async () => {
  const clock = createManualClock(start);
  const write = Promise.withResolvers<void>();
  const { check, isStuck } = createWriteProbe(() => write.promise, clock, { stuckMs: 11_000 });
  await check();
  clock.advance(10_000);
  await check();
  assert.equal(isStuck(), false);
  // Its time for a lock is over.
  write.reject(new Error('the database is busy'));
  await assert.rejects(check, /busy/);
});
