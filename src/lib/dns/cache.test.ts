import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import type { DnsAnswer } from './answer.ts';
import { createAnswerCache } from './cache.ts';

const start = new Date('2026-01-01T00:00:00Z');
const found = (ttlSeconds: number): DnsAnswer<unknown> => ({
  status: 'found',
  records: ['x'],
  ttlSeconds,
  transport: 'udp',
});
const missing = (ttlSeconds: number): DnsAnswer<unknown> => ({
  status: 'nxdomain',
  records: [],
  ttlSeconds,
  transport: 'udp',
});

test('DISC-12: an answer is kept for its TTL and counts down', () => {
  const clock = createManualClock(start);
  const cache = createAnswerCache(clock);
  cache.keep('a', found(60), 100);
  clock.advance(20_000);
  assert.equal(cache.find('a')?.ttlSeconds, 40);
  clock.advance(40_000);
  assert.equal(cache.find('a'), undefined);
});

test('DISC-12: answers are kept at most a day, absence at most five minutes', () => {
  const clock = createManualClock(start);
  const cache = createAnswerCache(clock, { maxSeconds: 1_000_000, maxNegativeSeconds: 1_000_000 });
  cache.keep('a', found(1_000_000), 100);
  cache.keep('b', missing(1_000_000), 100);
  assert.equal(cache.find('a')?.ttlSeconds, 86_400);
  assert.equal(cache.find('b')?.ttlSeconds, 300);
});

test('an answer with a TTL of zero is not kept', () => {
  const cache = createAnswerCache(createManualClock(start));
  cache.keep('a', found(60), 100);
  cache.keep('a', found(0), 100);
  assert.equal(cache.find('a'), undefined);
});

test('number and memory are limited, and the least recently used entry is evicted first', () => {
  const cache = createAnswerCache(createManualClock(start), { maxEntries: 2 });
  cache.keep('a', found(60), 100);
  cache.keep('b', found(60), 100);
  cache.find('a');
  cache.keep('c', found(60), 100);
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => cache.find(key) !== undefined),
    [true, false, true],
  );

  const small = createAnswerCache(createManualClock(start), { maxOctets: 1_000 });
  small.keep('a', found(60), 400);
  small.keep('b', found(60), 400);
  small.keep('huge', found(60), 5_000);
  assert.deepEqual(
    ['a', 'b', 'huge'].map((key) => small.find(key) !== undefined),
    [false, true, false],
  );
});

test('a clock that is set back does not prolong an answer beyond the cap', () => {
  const clock = createManualClock(start);
  const cache = createAnswerCache(clock, { maxSeconds: 60 });
  cache.keep('a', found(60), 100);
  clock.advance(-3_600_000);
  assert.equal(cache.find('a'), undefined);
});
