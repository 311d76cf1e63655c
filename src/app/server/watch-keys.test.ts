import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectLines } from '../../../test/support/collect-lines.ts';
import { createManualClock } from '../../core/index.ts';
import { createMetrics } from '../../platform/index.ts';
import type { DomainKeyDates, KeyWarning } from '../../service/trust/index.ts';
import { createKeyWatch } from './watch-keys.ts';

const hourMs = 3_600_000;
const warning: KeyWarning = {
  owner: 'direct.example.org',
  problem: 'expires-soon',
  uses: ['signing', 'encryption'],
  keyPair: 'k1',
  notAfter: new Date('2026-06-20T00:00:00Z'),
};

function start() {
  const clock = createManualClock(new Date('2026-06-01T00:00:00Z'));
  const metrics = createMetrics();
  const { log, lines } = collectLines();
  let dates: readonly DomainKeyDates[] = [];
  const watch = createKeyWatch({ trust: { findKeyDates: async () => dates }, clock, log, metrics });
  return {
    clock,
    metrics,
    lines,
    watch,
    set: (daysLeft: number | undefined, ...warnings: KeyWarning[]) =>
      void (dates = [{ domain: 'direct.example.org', isInUse: true, daysLeft, warnings }]),
  };
}

test('a key that ends is logged once per day, at once when it has ended, and no more when it was replaced', async () => {
  const { clock, lines, watch, set } = start();
  set(19, warning);
  await watch.run();
  clock.advance(hourMs);
  await watch.run();
  assert.deepEqual(lines, [
    'warn The key of direct.example.org for signing and encryption expires on 2026-06-20.',
  ]);
  clock.advance(23 * hourMs);
  await watch.run();
  assert.equal(lines.length, 2);
  set(-1, { ...warning, problem: 'expired' });
  await watch.run();
  assert.equal(
    lines.at(-1),
    'error The key of direct.example.org for signing and encryption expired on 2026-06-20.',
  );
  set(700);
  clock.advance(48 * hourMs);
  await watch.run();
  assert.equal(lines.length, 3);
  assert.deepEqual(watch.degraded(), []);
});

test('days to expiry and the number of warnings are metrics', async () => {
  const { metrics, watch, set } = start();
  set(19.5, warning);
  await watch.run();
  const text = await metrics.text();
  assert.match(text, /^openhisp_key_expiry_days\{domain="direct\.example\.org"\} 19\.5$/m);
  assert.match(text, /^openhisp_key_warnings\{problem="expires-soon"\} 1$/m);
  assert.match(text, /^openhisp_key_warnings\{problem="expired"\} 0$/m);
  // All keys were retired.
  set(undefined, { ...warning, problem: 'missing' });
  await watch.run();
  assert.doesNotMatch(await metrics.text(), /^openhisp_key_expiry_days\{/m);
});

test('a thousand expired keys are twenty lines and a number, once per day', async () => {
  const { clock, lines, watch, set } = start();
  const many = Array.from({ length: 1000 }, (_, index): KeyWarning => ({
    ...warning,
    problem: 'expired',
    owner: `a${index}@direct.example.org`,
    keyPair: `k${index}`,
  }));
  set(-1, ...many);
  await watch.run();
  clock.advance(hourMs);
  await watch.run();
  assert.equal(lines.length, 21);
  assert.equal(lines.at(-1), 'error 980 more keys need attention: openhisp doctor');
  assert.equal(watch.degraded().length, 21);
});
