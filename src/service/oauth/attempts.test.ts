import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createManualClock } from '../../core/index.ts';
import { createAttemptGuard } from './attempts.ts';

const limits = { attemptsPerMinute: 3, tokensPerSecond: 1, tokensBurst: 1 };
const createGuard = () => createAttemptGuard(limits, createManualClock(new Date('2026-05-01T00:00:00Z')));

test('attempts from one IPv6 network (/64) are counted together, and those of the next one apart', () => {
  const guard = createGuard();
  for (const address of ['2001:db8:0:1::1', '2001:DB8::1:0:0:0:2', '2001:db8:0:1:ffff:ffff:ffff:ffff'])
    guard.refused(address, undefined);
  assert.throws(() => guard.check('2001:db8:0:1:8::1', undefined), { code: 'OAUTH_ATTEMPTS_EXCEEDED' });
  guard.check('2001:db8:0:2::1', undefined);
});

test('IPv4 addresses are counted one by one, mapped ones like the plain', () => {
  const guard = createGuard();
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1']) guard.refused(address, undefined);
  assert.throws(() => guard.check('::ffff:192.0.2.1', undefined), { code: 'OAUTH_ATTEMPTS_EXCEEDED' });
  guard.check('192.0.2.2', undefined);
});
