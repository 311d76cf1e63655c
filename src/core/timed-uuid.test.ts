import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTimedUuid } from './timed-uuid.ts';

test('is a UUID of version 7 that begins with the time in milliseconds', () => {
  const uuid = createTimedUuid(new Date('2022-02-22T19:22:22.000Z'));
  // The time of the example in RFC 9562, appendix A.6.
  assert.match(uuid, /^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('sorts by its time, and differs within one millisecond', () => {
  const early = createTimedUuid(new Date(1_700_000_000_000));
  const late = createTimedUuid(new Date(1_700_000_000_001));
  assert.ok(early < late);
  const at = new Date();
  assert.equal(new Set(Array.from({ length: 1000 }, () => createTimedUuid(at))).size, 1000);
});
