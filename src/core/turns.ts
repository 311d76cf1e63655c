import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Lets one caller continue per turn of the event loop, in the order of their calls, so that many simultaneous
 * calls do not block the event loop until the last of them is done.
 */
export function createTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}
