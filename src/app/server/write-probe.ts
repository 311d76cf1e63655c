import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';

/** Waiting this long for the write lock is normal while a directory load is activated. */
const patienceMs = 1_000;
/** After this the write counts as one that does not end: within 5 s of its beginning. */
const defaultStuckMs = 4_000;
/** Requests cause a write this long after the last one. */
const pauseMs = 2_000;

interface MigrationTable {
  schema_migration: { name: string };
}

/**
 * Resolves when the database could be written. Rejects with the reason, for example a full or read-only disk.
 * A row is written as it is: a statement that changes none would never reach the disk.
 */
export async function checkWritable(storage: Storage): Promise<void> {
  await storage.transaction<MigrationTable, unknown>((tx) =>
    tx
      .updateTable('schema_migration')
      .set((eb) => ({ name: eb.ref('name') }))
      .where('name', '=', (eb) =>
        eb.selectFrom('schema_migration').select((all) => all.fn.max('name').as('name')),
      )
      .execute(),
  );
}

export interface WriteProbe {
  /** The readiness check: rejects while the database is not writable. */
  check(): Promise<void>;
  /**
   * True while writes do not end: a request would only wait. Starts a write now and then, so that requests
   * alone find it out, too.
   */
  isStuck(): boolean;
}

/**
 * Writes to the database to know that it can be written. A write that merely waits its turn is not a failure;
 * one that has not ended after some seconds is, and so is one that fails. A failure stays until a write has
 * succeeded: the next one that hangs is no success. At most one write is in progress, however often it is
 * asked.
 */
export function createWriteProbe(
  write: () => Promise<void>,
  clock: Clock,
  { stuckMs = defaultStuckMs }: { readonly stuckMs?: number } = {},
): WriteProbe {
  const nowMs = (): number => clock.now().getTime();
  let running: { readonly sinceMs: number; readonly done: Promise<void> } | undefined;
  let endedMs = -Infinity;
  let failure: Error | undefined;
  let wasStuck = false;

  function start(): { readonly sinceMs: number; readonly done: Promise<void> } {
    const done = write().then(
      () => {
        failure = undefined;
        wasStuck = false;
        end();
      },
      (error: unknown) => {
        failure = error instanceof Error ? error : new Error(String(error));
        end();
        throw failure;
      },
    );
    // A waiting check gets the failure; without one, the next check finds it again.
    done.catch(() => {});
    return { sinceMs: nowMs(), done };
  }

  function end(): void {
    running = undefined;
    endedMs = nowMs();
  }

  function findStuck(): boolean {
    if (running !== undefined && nowMs() - running.sinceMs > stuckMs) {
      wasStuck = true;
      failure = new Error('a write to the database does not end');
    }
    return wasStuck;
  }

  return {
    async check() {
      running ??= start();
      const { done } = running;
      const stopWaiting = new AbortController();
      try {
        await Promise.race([done, wait(patienceMs, undefined, { signal: stopWaiting.signal })]);
      } finally {
        stopWaiting.abort();
      }
      findStuck();
      if (failure !== undefined) throw failure;
    },
    isStuck() {
      if (nowMs() - endedMs > pauseMs) running ??= start();
      return findStuck();
    },
  };
}
