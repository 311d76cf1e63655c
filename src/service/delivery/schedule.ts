/** Retry times of a delivery. */

const minuteMs = 60_000;

// Deliveries that failed together must not come back together.
const jitterShare = 0.2;

/**
 * The wait in milliseconds after the given number of attempts (1 = the first has just failed).
 * `random` returns a number from 0 up to 1.
 */
export function retryWaitMs(attempts: number, waitsMs: readonly number[], random: () => number): number {
  const base = waitsMs[Math.min(attempts, waitsMs.length) - 1] ?? minuteMs;
  return Math.round(base * (1 - jitterShare / 2 + jitterShare * random()));
}
