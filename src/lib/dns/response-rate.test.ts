import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import { readMessage, writeQuery } from './message.ts';
import { respondTruncated } from './respond.ts';
import { createResponseRate } from './response-rate.ts';

const start = new Date('2026-01-01T00:00:00Z');

test('SEC-11: a network gets its burst, then a fixed number of answers per second', () => {
  const clock = createManualClock(start);
  const rate = createResponseRate({ clock, perSecond: 10, burst: 3 });
  const ask = (count: number, address = '192.0.2.1') =>
    Array.from({ length: count }, () => rate.allows(address));
  assert.deepEqual(ask(4), [true, true, true, false]);
  clock.advance(100);
  assert.deepEqual(ask(2), [true, false]);
  clock.advance(60_000);
  assert.deepEqual(ask(4), [true, true, true, false]);
  clock.advance(-60_000);
  assert.deepEqual(ask(1), [false]);
});

test('SEC-11: neighbors in an IPv4 /24 or IPv6 /56 share, others do not', () => {
  const shares = (first: string, second: string) => {
    const rate = createResponseRate({ clock: createManualClock(start), perSecond: 1, burst: 1 });
    rate.allows(first);
    return !rate.allows(second);
  };
  assert.ok(shares('192.0.2.1', '192.0.2.254'));
  assert.ok(!shares('192.0.2.1', '192.0.3.1'));
  assert.ok(shares('192.0.2.1', '::ffff:192.0.2.2'));
  assert.ok(shares('2001:db8:1:200::1', '2001:db8:1:2ff::9'));
  assert.ok(!shares('2001:db8:1:200::1', '2001:db8:1:300::1'));
  // Written short, as Node gives them.
  assert.ok(shares('2001:db8::1', '2001:db8::abcd'));
  assert.ok(shares('2001:db8::abcd', '2001:db8:0:ff::1'));
  assert.ok(!shares('2001:db8::1', '2001:db8:0:100::1'));
});

test('the limit can be disabled, and its memory is bounded', () => {
  const off = createResponseRate({ clock: createManualClock(start), perSecond: 0, burst: 0 });
  assert.ok(off.allows('192.0.2.1') && off.allows('192.0.2.1'));
  const rate = createResponseRate({ clock: createManualClock(start), perSecond: 1, burst: 1 });
  rate.allows('10.0.0.1');
  for (let n = 0; n < 50_000; n++) rate.allows(`172.${n >> 8}.${n & 255}.1`);
  assert.ok(rate.allows('10.0.0.1'));
});

test('over the limit the answer is truncated and no larger than the question', () => {
  const query = writeQuery({ id: 1, name: 'bob.direct.example.org', type: 'CERT', isEdns: true });
  const response = respondTruncated(query) ?? Buffer.alloc(0);
  assert.equal(readMessage(response).isTruncated, true);
  assert.ok(response.length <= query.length);
  assert.equal(respondTruncated(Buffer.alloc(5)), undefined);
});
