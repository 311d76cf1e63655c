import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectLines } from '../../../test/support/collect-lines.ts';
import { createManualClock } from '../../core/index.ts';
import { logSometimes } from './log-sometimes.ts';

test('a thousand failed answers in a minute are one line, and each kind of answer has its line', () => {
  const clock = createManualClock(new Date('2026-06-01T00:00:00Z'));
  const { log, lines } = collectLines();
  const onDns = logSometimes({ log, clock }, 'a DNS answer failed');
  const onLdap = logSometimes({ log, clock }, 'an LDAP answer failed');
  for (let count = 0; count < 1000; count++) {
    clock.advance(50);
    onDns(new Error('database'));
  }
  onLdap(new Error('database'));
  assert.deepEqual(lines, ['error a DNS answer failed', 'error an LDAP answer failed']);
  clock.advance(60_000);
  onDns(new Error('database'));
  assert.equal(lines.length, 3);
});
