/**
 * Milliseconds until the next of the moments, `everyMs` apart, at which idle workers look for due work. Those
 * of a process look together, so that an idle one wakes once and SQLite begins and commits once for all.
 */
export function untilLook(everyMs: number): number {
  // A timer may end a millisecond early.
  return everyMs - (Math.floor(performance.now()) % everyMs) + 1;
}
