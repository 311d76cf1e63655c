import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSteadyClock } from './steady-clock.ts';

const hourMs = 3_600_000;

test('runs on while the machine’s clock jumps, and approaches it slowly', () => {
  for (const jumpMs of [hourMs, -hourMs]) {
    let machineMs = 1_000_000_000;
    let monotonicMs = 0;
    const pass = (ms: number): void => {
      machineMs += ms;
      monotonicMs += ms;
    };
    const clock = createSteadyClock(
      () => machineMs,
      () => monotonicMs,
    );
    pass(1000);
    assert.equal(clock.now().getTime(), 1_000_001_000);
    machineMs += jumpMs;
    const before = clock.now().getTime();
    pass(10_000);
    const elapsed = clock.now().getTime() - before;
    assert.ok(elapsed >= 9000 && elapsed <= 11_000, `${elapsed}`);
    for (let minute = 0; minute < 700; minute++) {
      pass(60_000);
      clock.now();
    }
    assert.ok(Math.abs(clock.now().getTime() - machineMs) < 2, 'it never caught up');
  }
});

test('never goes backwards', () => {
  let machineMs = 5000;
  let monotonicMs = 0;
  const clock = createSteadyClock(
    () => machineMs,
    () => monotonicMs,
  );
  let last = clock.now().getTime();
  for (let step = 0; step < 100; step++) {
    machineMs -= 1000;
    monotonicMs += step % 7;
    const now = clock.now().getTime();
    assert.ok(now >= last);
    last = now;
  }
});
