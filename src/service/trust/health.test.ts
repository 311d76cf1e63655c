import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthOfBundle } from './health.ts';

const hourMs = 3_600_000;
const now = new Date('2026-06-10T00:00:00Z');
const ago = (hours: number): Date => new Date(now.getTime() - hours * hourMs);

test('a bundle is old when its refresh is two days late, however often it is due', () => {
  const levels = [
    // Refreshed hours ago, due every n hours, whether the last refresh failed.
    [71, 24, false],
    [73, 24, false],
    [71, 24, true],
    [73, 24, true],
    [30 * 24 + 47, 30 * 24, false],
    [30 * 24 + 49, 30 * 24, false],
    [4 * 24, 30 * 24, true],
  ].map(([age, every, hasFailed]) =>
    healthOfBundle(
      {
        createdAt: ago(10_000),
        refreshedAt: ago(Number(age)),
        refreshSeconds: Number(every) * 3600,
        lastError: hasFailed === true ? 'timeout' : '',
      },
      now,
    ),
  );
  assert.deepEqual(
    levels.map(({ level }) => level),
    ['ok', 'warning', 'warning', 'failed', 'ok', 'warning', 'warning'],
  );
  assert.equal(levels[1]?.text, 'Not refreshed for 3 days.');
});

test('a bundle that was never fetched waits for an hour, and fails at once with an error', () => {
  const never = { refreshedAt: undefined, refreshSeconds: 86_400 };
  assert.deepEqual(
    [
      healthOfBundle({ ...never, createdAt: ago(0.5), lastError: '' }, now).level,
      healthOfBundle({ ...never, createdAt: ago(1.5), lastError: '' }, now).level,
      healthOfBundle({ ...never, createdAt: ago(0.5), lastError: 'refused' }, now).level,
    ],
    ['waiting', 'warning', 'failed'],
  );
});
