import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorText } from '../../core/index.ts';
import { listMoved, type TaskThreads } from '../../core/threads/index.ts';
import { DirectError } from '../../lib/direct/index.ts';
import type { AgentResult, AgentTask } from './tasks.ts';

/** Handing a message of this size to a thread and back costs about as much as the work on it. */
const maxInlineBytes = 256 * 1024;
/** Small messages that may wait for their turn here; more than these go to threads, which use the other processors. */
const maxInlineWaiting = 8;

export interface TaskOptions {
  /** False (default): a thread takes over the message's memory. */
  readonly keepsMessage?: boolean;
}

/** Runs the agent's processor work: small messages in the calling thread, one per turn of the event loop, others in threads. */
export interface TaskRunner {
  /** Throws a DirectError, or an Error for an internal fault. */
  run(task: AgentTask, options?: TaskOptions): Promise<AgentResult>;
}

export function createTaskRunner(
  pool: Pick<TaskThreads<AgentTask, AgentResult>, 'run'>,
  runHere: (task: AgentTask) => AgentResult,
): TaskRunner {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  async function runInTurn(task: AgentTask): Promise<AgentResult> {
    waiting++;
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    try {
      await before;
      // Data that has arrived from the network is processed first.
      await nextTurn();
      return runHere(task);
    } catch (error) {
      throw error instanceof DirectError ? error : new Error(errorText(error));
    } finally {
      waiting--;
      resolve();
    }
  }

  return {
    run(task, { keepsMessage = false } = {}) {
      const isSmall = task.message.length <= maxInlineBytes;
      return isSmall && waiting < maxInlineWaiting
        ? runInTurn(task)
        : pool.run(task, keepsMessage ? [] : listMoved([task.message]));
    },
  };
}
