import { errorText } from '../../core/index.ts';
import { listMoved, type TaskThreads } from '../../core/threads/index.ts';
import { DirectError } from '../../lib/direct/index.ts';
import type { AgentResult, AgentTask } from './tasks.ts';

/** Handing a message of this size to a thread and back costs about as much as the work on it. */
const maxInlineBytes = 256 * 1024;
/**
 * Small messages that may wait for their turn here; more than these go to threads, which use the other
 * processors.
 */
const maxInlineWaiting = 16;
/** Of one turn of the event loop. What runs in succession finds code and tables in the processor's caches. */
const maxTurnMs = 8;

export interface TaskOptions {
  /** False (default): a thread takes over the message's memory. */
  readonly keepsMessage?: boolean;
}

/**
 * Runs the agent's processor work: small messages in the calling thread, a few per turn of the event loop,
 * others in threads.
 */
export interface TaskRunner {
  /** Throws a DirectError, or an Error for an internal fault. */
  run(task: AgentTask, options?: TaskOptions): Promise<AgentResult>;
}

export function createTaskRunner(
  pool: Pick<TaskThreads<AgentTask, AgentResult>, 'run'>,
  runHere: (task: AgentTask) => AgentResult,
): TaskRunner {
  const waiting: (() => void)[] = [];

  function runWaiting(): void {
    const endAt = performance.now() + maxTurnMs;
    do waiting.shift()?.();
    while (waiting.length > 0 && performance.now() < endAt);
    if (waiting.length > 0) setImmediate(runWaiting);
  }

  function runInTurn(task: AgentTask): Promise<AgentResult> {
    return new Promise((resolve, reject) => {
      waiting.push(() => {
        try {
          resolve(runHere(task));
        } catch (error) {
          reject(error instanceof DirectError ? error : new Error(errorText(error)));
        }
      });
      // Data that has arrived from the network is processed first.
      if (waiting.length === 1) setImmediate(runWaiting);
    });
  }

  return {
    run(task, { keepsMessage = false } = {}) {
      const isSmall = task.message.length <= maxInlineBytes;
      return isSmall && waiting.length < maxInlineWaiting
        ? runInTurn(task)
        : pool.run(task, keepsMessage ? [] : listMoved([task.message]));
    },
  };
}
