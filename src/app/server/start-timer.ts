import { errorCode, errorText, type Closable, type Log } from '../../core/index.ts';

export interface TimerOptions {
  readonly name: string;
  readonly everyMs: number;
  readonly log: Log;
  work(): Promise<unknown>;
}

/** Runs work at once and then at intervals, never twice at the same time. Its errors are logged. */
export function startTimer(options: TimerOptions): Closable {
  let running: Promise<void> | undefined;
  const run = (): void => {
    running ??= attempt(options).finally(() => {
      running = undefined;
    });
  };
  run();
  const timer = setInterval(run, options.everyMs);
  return {
    async close() {
      clearInterval(timer);
      await running;
    },
  };
}

async function attempt({ name, log, work }: TimerOptions): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.error({ timer: name, code: errorCode(error), problem: errorText(error) }, 'a timed task failed');
  }
}
