const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Waits before each further attempt: eleven attempts over about 24 hours (Decision 0013). */
export const retryDelaysMs: readonly number[] = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  8 * hour,
  8 * hour,
];

// Each wait is lengthened or shortened by up to a tenth, so that a hook that comes back is not hit by all at
// once.
const jitterShare = 0.1;

/**
 * The wait after `attempts` failed attempts, in milliseconds, or undefined if they are exhausted; not less
 * than what the target asked for. `random` is in [0, 1).
 */
export function retryDelay(attempts: number, random: number, leastMs = 0): number | undefined {
  const delay = retryDelaysMs[attempts - 1];
  if (delay === undefined) return undefined;
  return Math.max(leastMs, Math.round(delay * (1 + jitterShare * (2 * random - 1))));
}

/** Time limit of one attempt. */
export const attemptTimeoutMs = 15 * second;

/** Lease of a notification, so that no other node begins an attempt while this one has it. */
export const notificationLeaseMs = 4 * attemptTimeoutMs;
