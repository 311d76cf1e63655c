import { errorText, type Closable } from '../../../core/index.ts';
import { createTaskThreads, threadScript } from '../../../core/threads/index.ts';
import type { CheckpointResult, CheckpointTask } from './checkpoint-thread.ts';

/** Between the end of one checkpoint and the beginning of the next: each flushes the whole database file. */
const restMs = 1000;
/** Commits that make a checkpoint worth its flush; a large one counts as several. */
const manyCommits = 200;
/** After this time a checkpoint runs even for a few commits, so that a crash leaves a short log. */
const latestMs = 15_000;

/**
 * Pages of the log (64 MB) at which the writer waits for a checkpoint. SQLite begins the log again only when
 * all of it was moved at the moment of a write; under steady load that moment never comes by itself, and the
 * log would grow forever.
 */
const longLogPages = 16_384;

/**
 * Moves the log into the database in a thread, so that no commit waits for it. A checkpoint that cannot
 * finish, because somebody still reads an old state, is continued by the next.
 */
export interface Checkpointer extends Closable {
  /** Called after each commit. `weight` is 1 for an ordinary one. */
  afterCommit(weight: number): void;
  /** The next write waits for this, so that the log can restart; almost always undefined. */
  pause(): Promise<void> | undefined;
}

export function createCheckpointer(file: string, onError: (text: string) => void): Checkpointer {
  const threads = createTaskThreads<CheckpointTask, CheckpointResult>(
    threadScript('checkpoint-thread', import.meta.url),
    { idleMs: 60_000 },
  );
  let running: Promise<void> | undefined;
  let commits = 0;
  let isLong = false;
  let endedAt = performance.now();

  async function run(isWriterWaiting: boolean): Promise<void> {
    commits = 0;
    try {
      const { logPages } = await threads.run({ file });
      // Little was written in the meantime: the next checkpoint moves it while nothing is written.
      isLong = !isWriterWaiting && logPages >= longLogPages;
    } catch (error) {
      onError(errorText(error));
    } finally {
      endedAt = performance.now();
      running = undefined;
    }
  }

  return {
    afterCommit(weight) {
      commits += weight;
      if (running !== undefined) return;
      const restedMs = performance.now() - endedAt;
      if (restedMs < (commits >= manyCommits ? restMs : latestMs)) return;
      running = run(false);
    },
    pause() {
      if (!isLong || running !== undefined) return undefined;
      isLong = false;
      running = run(true);
      return running;
    },
    async close() {
      await running;
      await threads.close();
    },
  };
}
