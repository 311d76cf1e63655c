import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { silentLog } from '../../core/index.ts';
import { createMetrics } from '../metrics/create-metrics.ts';
import { createDiskGuard } from './disk-guard.ts';
import { createFairSlots } from './fair-slots.ts';

const low = { code: 'PLATFORM_DISK_LOW', kind: 'unavailable', retryAfterSeconds: 60 };

const megabyte = 1_000_000;

test('new work is refused while the disk is nearly full, and accepted again when there is clearly more space', async () => {
  /** In megabytes. */
  let free = 1000;
  const metrics = createMetrics();
  const guard = await createDiskGuard({
    folders: ['a', 'b'],
    minFreeBytes: 500 * megabyte,
    log: silentLog,
    metrics,
    readFree: async (folder) => (folder === 'a' ? 1_000_000 : free) * megabyte,
  });
  guard.requireRoom();
  guard.requireRoom(500 * megabyte);
  assert.throws(() => guard.requireRoom(501 * megabyte), low);
  assert.equal(guard.shortage(), undefined);
  free = 999;
  await guard.refresh();
  guard.requireRoom();
  assert.deepEqual(guard.shortage(), {
    isLow: false,
    detail: 'The disk is getting full: 999 MB are free; below 500 MB new messages are refused.',
  });
  free = 499;
  await guard.refresh();
  assert.throws(() => guard.requireRoom(), low);
  assert.deepEqual(guard.shortage(), {
    isLow: true,
    detail: 'The disk is nearly full: 499 MB are free, and new messages are refused until 525 MB are.',
  });
  assert.match(await metrics.text(), /^openhisp_disk_low 1$/m);
  free = 510;
  await guard.refresh();
  assert.throws(() => guard.requireRoom(), low);
  free = 530;
  await guard.refresh();
  guard.requireRoom();
  assert.match(await metrics.text(), /^openhisp_disk_low 0$/m);
  await guard.close();
});

test('a disk that cannot be read changes nothing; a real one is read, and the guard can be disabled', async () => {
  const options = { log: silentLog, metrics: createMetrics() };
  const unreadable = await createDiskGuard({
    ...options,
    folders: ['a'],
    minFreeBytes: 1,
    readFree: () => Promise.reject(new Error('gone')),
  });
  unreadable.requireRoom();
  await unreadable.close();
  const real = { ...options, folders: [tmpdir()] };
  const full = await createDiskGuard({ ...real, metrics: createMetrics(), minFreeBytes: 2 ** 60 });
  assert.throws(() => full.requireRoom(), low);
  await full.close();
  const off = await createDiskGuard({ ...real, metrics: createMetrics(), minFreeBytes: 0 });
  off.requireRoom(2 ** 60);
  assert.equal(off.shortage(), undefined);
  await off.close();
});

test('slots are shared: no caller has more than its share, and another one does not wait behind it', async () => {
  const slots = createFairSlots({ total: 3, perCaller: 2 });
  const running: string[] = [];
  const done: string[] = [];
  const gates: (() => void)[] = [];
  const start = (caller: string, n: number): Promise<void> =>
    slots.run(caller, async () => {
      running.push(`${caller}${n}`);
      await new Promise<void>((resolve) => gates.push(resolve));
      done.push(`${caller}${n}`);
    });
  const all = [0, 1, 2, 3].map((n) => start('a', n));
  all.push(start('b', 0), start('b', 1));
  await nextTurn();
  assert.deepEqual(running, ['a0', 'a1', 'b0']);
  gates[0]?.();
  await nextTurn();
  // The place of a0 goes to the caller with less than its share that was served longest ago.
  assert.equal(running.length, 4);
  while (done.length < 6) {
    for (const open of gates) open();
    await nextTurn();
  }
  await Promise.all(all);
  assert.deepEqual(
    running.filter((name) => name.startsWith('a')),
    ['a0', 'a1', 'a2', 'a3'],
  );
});

test('a slot is free again when the work in it has failed', async () => {
  const slots = createFairSlots({ total: 1, perCaller: 1 });
  await assert.rejects(
    slots.run('a', () => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.equal(await slots.run('a', async () => 1), 1);
});
