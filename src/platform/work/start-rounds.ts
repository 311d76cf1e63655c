import { AsyncLocalStorage } from 'node:async_hooks';
import type { Closable, Log } from '../../core/index.ts';
import { createFaultLog } from './fault-log.ts';
import { createNap } from './nap.ts';

// The loop must not inherit the asynchronous context (a transaction's mark) of its caller.
const withoutContext = AsyncLocalStorage.snapshot();

export interface RoundsOptions {
  /** For the log. */
  readonly name: string;
  readonly everyMs: number;
  readonly log: Log;
  /** Its errors are logged, and the next round comes all the same. */
  work(): unknown;
  /** One more round when it is closed, for what was gathered since the last. */
  readonly hasLast?: boolean;
}

export interface Rounds extends Closable {
  /** One more round at once. Cheap; may be called from inside a transaction's last step. */
  wake(): void;
}

/** Runs work at once and then at intervals, never twice at the same time; closing waits for it. */
export function startRounds({ name, everyMs, log, work, hasLast = false }: RoundsOptions): Rounds {
  const faults = createFaultLog(name, log);
  const nap = createNap(everyMs);
  let isClosing = false;

  async function round(): Promise<void> {
    try {
      await work();
      faults.worked('do its work');
    } catch (error) {
      faults.failed('do its work', error);
    }
  }

  async function run(): Promise<void> {
    // The caller has what it starts before the first round, so that the work may use it.
    await Promise.resolve();
    while (!isClosing) {
      nap.begin();
      await round();
      if (!isClosing) await nap.sleep();
    }
    if (hasLast) await round();
  }

  const done = withoutContext(run);
  return {
    wake: nap.wake,
    async close() {
      isClosing = true;
      nap.wake();
      await done;
    },
  };
}
