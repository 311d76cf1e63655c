/**
 * Milliseconds until the next of the moments, `everyMs` apart, at which the idle workers of a process look for
 * due work. All look together, so that an idle process wakes once and SQLite begins and commits once for all.
 */
export function untilLook(everyMs: number): number {
  // A timer may end a millisecond early.
  return everyMs - (Math.floor(performance.now()) % everyMs) + 1;
}
