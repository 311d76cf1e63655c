/** The sleep of a loop between its looks for due work. */
export interface Nap {
  /** Before a look: from now on a wake-up asks for another one. */
  begin(): void;
  /** Until the next moment at which loops look, or a wake-up. */
  sleep(): Promise<void>;
  /** Look at once. Cheap; may be called from inside a transaction's last step. */
  wake(): void;
}

export function createNap(everyMs: number): Nap {
  let isWoken = false;
  let endSleep = (): void => {};
  return {
    begin() {
      isWoken = false;
    },
    sleep: () =>
      new Promise((resolve) => {
        if (isWoken) return resolve();
        const timer = setTimeout(resolve, untilLook(everyMs));
        endSleep = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    wake() {
      isWoken = true;
      endSleep();
    },
  };
}

/**
 * Milliseconds until the next of the moments, `everyMs` apart, at which idle loops look. Those of a process
 * look together, so that an idle one wakes once and SQLite begins and commits once for all.
 */
function untilLook(everyMs: number): number {
  // A timer may end a millisecond early.
  return everyMs - (Math.floor(performance.now()) % everyMs) + 1;
}
