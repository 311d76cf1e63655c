import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Lets one caller continue per turn of the event loop, in the order of their calls: what many ask for at the same moment does not
 * hold up everybody else until the last of it is done.
 */
export function createTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}
