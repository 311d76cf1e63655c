import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../test/support/fast-check.ts';
import { createManualClock, createTokenBuckets } from './index.ts';

const start = new Date('2026-05-01T00:00:00Z');

test('a bucket gives its burst immediately, then one token per interval, and returns the wait', () => {
  const clock = createManualClock(start);
  const buckets = createTokenBuckets({ ratePerSecond: 2, burst: 3, clock });
  const took = [1, 2, 3].map(() => buckets.take('a'));
  assert.deepEqual(
    took.map(({ remaining, nextSeconds }) => [remaining, nextSeconds]),
    [
      [2, 0],
      [1, 0],
      [0, 1],
    ],
  );
  assert.deepEqual(buckets.take('a'), {
    allowed: false,
    remaining: 0,
    retryAfterSeconds: 1,
    nextSeconds: 1,
    limit: 3,
  });
  assert.equal(buckets.take('b').allowed, true);
  clock.advance(500);
  assert.equal(buckets.take('a').allowed, true);
  assert.equal(buckets.take('a').allowed, false);
  clock.advance(-60_000);
  assert.equal(buckets.take('a').allowed, false);
  clock.advance(120_000);
  assert.equal(buckets.take('a', 3).allowed, true);
});

test('individual limits override those of the buckets', () => {
  const clock = createManualClock(start);
  const buckets = createTokenBuckets({ ratePerSecond: 1, burst: 1, clock });
  const own = { ratePerSecond: 10, burst: 5 };
  assert.equal([1, 2, 3, 4, 5, 6].filter(() => buckets.take('a', 1, own).allowed).length, 5);
});

test('never grants more than the burst plus the refill', () => {
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
          const elapsedSeconds = (clock.now().getTime() - start.getTime()) / 1000;
          assert.ok(given <= 5 + elapsedSeconds * 2 + 1e-6);
        }
      },
    ),
  );
});

test('at the maximum number of buckets, the least recently used one is reset', () => {
  const clock = createManualClock(start);
  const buckets = createTokenBuckets({ ratePerSecond: 1, burst: 1, clock, maxBuckets: 2 });
  for (const key of ['a', 'b', 'a', 'c']) buckets.take(key);
  assert.equal(buckets.take('a').allowed, false);
  assert.equal(buckets.take('b').allowed, true);
});
