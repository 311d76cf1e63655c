/** Lets one holder in at a time, in the order of asking. */
export interface Mutex {
  /** Waits for its turn; the returned function lets the next one in and may be called more than once. */
  acquire(): Promise<() => void>;
  readonly isHeld: boolean;
}

export function createMutex(): Mutex {
  let tail: Promise<void> = Promise.resolve();
  let holders = 0;
  return {
    get isHeld() {
      return holders > 0;
    },
    async acquire() {
      holders++;
      const previous = tail;
      let letNextIn = (): void => {};
      tail = new Promise<void>((resolve) => {
        letNextIn = resolve;
      });
      await previous;
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        holders--;
        letNextIn();
      };
    },
  };
}
