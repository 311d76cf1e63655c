import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import { createFloodGuard } from './create-audit.ts';

test('refusals of one IPv6 /64 share a budget of rows; the next /64 has its own', () => {
  const guard = createFloodGuard(createManualClock(new Date('2026-05-01T00:00:00Z')));
  const refusal = (remoteAddress: string) =>
    guard({ action: 'access.refuse', outcome: 'refused', objects: {}, remoteAddress });
  const kept = Array.from({ length: 300 }, (_, index) =>
    refusal(`2001:db8:0:1:${index.toString(16)}::${index.toString(16)}`),
  );
  assert.equal(kept.filter((event) => event !== undefined).length, 200);
  assert.equal(refusal('2001:db8:0:1:ffff:ffff:ffff:ffff'), undefined);
  assert.notEqual(refusal('2001:db8:0:2::1'), undefined);
});
