import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { createManualClock, silentLog, createTokenBuckets } from '../../core/index.ts';
import { nodeId } from './node-id.ts';
import { startWorker } from './start-worker.ts';

const start = new Date('2026-05-01T00:00:00Z');

test('a worker works until nothing is due, sleeps, and looks again when woken', async () => {
  const due = [[1, 2, 3], [4]];
  const done: number[] = [];
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const worker = startWorker({
    name: 'test',
    claim: async () => due.shift() ?? [],
    handle: async (item: number) => {
      done.push(item);
      if (item === 5) finish();
    },
    idleMs: 1e6,
    concurrency: 2,
    log: silentLog,
  });
  while (done.length < 4) await new Promise(setImmediate);
  due.push([5]);
  worker.wake();
  await finished;
  await worker.close();
  assert.deepEqual(
    done.toSorted((a, b) => a - b),
    [1, 2, 3, 4, 5],
  );
});

test('a wake-up during the look is not lost', async () => {
  let looks = 0;
  const worker = startWorker({
    name: 'test',
    claim: async () => {
      if (++looks === 1) worker.wake();
      return [];
    },
    handle: async () => {},
    idleMs: 1e6,
    concurrency: 1,
    log: silentLog,
  });
  while (looks < 2) await new Promise(setImmediate);
  await worker.close();
  assert.equal(looks, 2);
});

test('closing waits for the items in hand', async () => {
  let finish = (): void => {};
  let isDone = false;
  let isStarted = (): void => {};
  const started = new Promise<void>((resolve) => (isStarted = resolve));
  const due = [[1]];
  const worker = startWorker({
    name: 'test',
    claim: async () => due.shift() ?? [],
    handle: async () => {
      isStarted();
      await new Promise<void>((resolve) => (finish = resolve));
      isDone = true;
    },
    idleMs: 1e6,
    concurrency: 1,
    log: silentLog,
  });
  await started;
  const closed = worker.close();
  finish();
  await closed;
  assert.equal(isDone, true);
});

test('what claim or handle throws is logged and does not end the worker', async () => {
  const errors: unknown[] = [];
  const due: (() => number[])[] = [() => assert.fail('no database'), () => [1, 2]];
  const done: number[] = [];
  const worker = startWorker({
    name: 'test',
    claim: async () => due.shift()?.() ?? [],
    handle: async (item: number) => {
      done.push(item);
      if (item === 1) throw new Error('no');
    },
    idleMs: 1,
    concurrency: 1,
    log: { ...silentLog, error: (fields, text) => void errors.push([fields['worker'], text]) },
  });
  while (done.length < 2) await new Promise(setImmediate);
  await worker.close();
  assert.deepEqual(errors, [
    ['test', 'a worker could not claim'],
    ['test', 'a worker could not handle an item'],
  ]);
});

test('a bucket gives its burst at once, then one token per interval, and tells when to come back', () => {
  const clock = createManualClock(start);
  const buckets = createTokenBuckets({ ratePerSecond: 2, burst: 3, clock });
  assert.deepEqual(
    [1, 2, 3].map(() => buckets.take('a').remaining),
    [2, 1, 0],
  );
  assert.deepEqual(buckets.take('a'), { allowed: false, remaining: 0, retryAfterSeconds: 1, limit: 3 });
  assert.equal(buckets.take('b').allowed, true);
  clock.advance(500);
  assert.equal(buckets.take('a').allowed, true);
  assert.equal(buckets.take('a').allowed, false);
  clock.advance(-60_000);
  assert.equal(buckets.take('a').allowed, false);
  clock.advance(120_000);
  assert.equal(buckets.take('a', 3).allowed, true);
});

test('limits of its own override those of the buckets', () => {
  const clock = createManualClock(start);
  const buckets = createTokenBuckets({ ratePerSecond: 1, burst: 1, clock });
  const own = { ratePerSecond: 10, burst: 5 };
  assert.equal([1, 2, 3, 4, 5, 6].filter(() => buckets.take('a', 1, own).allowed).length, 5);
});

test('no more is ever given than burst plus what refilled', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ waitMs: fc.nat(3000), cost: fc.integer({ min: 1, max: 4 }) })),
      (steps) => {
        const clock = createManualClock(start);
        const buckets = createTokenBuckets({ ratePerSecond: 2, burst: 5, clock });
        let given = 0;
        for (const { waitMs, cost } of steps) {
          clock.advance(waitMs);
          if (buckets.take('a', cost).allowed) given += cost;
          const passedSeconds = (clock.now().getTime() - start.getTime()) / 1000;
          assert.ok(given <= 5 + passedSeconds * 2 + 1e-6);
        }
      },
    ),
  );
});

test('a node keeps its id, and two nodes have two', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-node-'));
  const [one, two] = [path.join(folder, 'one'), path.join(folder, 'two')];
  assert.equal(nodeId(one), nodeId(one));
  assert.notEqual(nodeId(one), nodeId(two));
  rmSync(folder, { recursive: true });
});
