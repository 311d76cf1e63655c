import { Worker, type TransferListItem } from 'node:worker_threads';
import type { Closable } from '../../core/index.ts';
import { AgentError } from './errors.ts';

/** Hands tasks to worker threads, one at a time to each, first come first served. */
export interface ThreadPool<Task, Result> extends Closable {
  /** Runs one task. What the task threw is thrown here as it was described by the thread. */
  run(task: Task, transfer?: readonly TransferListItem[]): Promise<Result>;
}

/** What a thread answers. */
export type ThreadAnswer<Result> =
  | { readonly isDone: true; readonly result: Result }
  | { readonly isDone: false; readonly error: ThreadFailure };

/** An error as it crosses from a thread: only what is safe to log. */
export interface ThreadFailure {
  readonly module: 'direct' | 'other';
  readonly code: string;
  /** The most exact code known. */
  readonly reason: string;
  readonly message: string;
}

interface Waiting<Task, Result> {
  readonly task: Task;
  readonly transfer: readonly TransferListItem[];
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Starts `size` threads that run `script`. A thread that dies is replaced; the task it held fails with
 * AGENT_THREAD_LOST, and the others go on.
 */
export function createThreadPool<Task, Result>(
  script: URL,
  size: number,
  restore: (failure: ThreadFailure) => Error,
): ThreadPool<Task, Result> {
  const queue: Waiting<Task, Result>[] = [];
  const busy = new Map<Worker, Waiting<Task, Result>>();
  const idle: Worker[] = [];
  const workers = new Set<Worker>();
  let isClosed = false;

  function addWorker(): void {
    const worker = new Worker(script);
    workers.add(worker);
    idle.push(worker);
    worker.on('message', (answer: ThreadAnswer<Result>) => finish(worker, answer));
    worker.on('error', (error) => lose(worker, error));
    worker.on('exit', () => lose(worker, undefined));
    // An idle thread must not keep the process alive.
    worker.unref();
  }

  function finish(worker: Worker, answer: ThreadAnswer<Result>): void {
    const waiting = busy.get(worker);
    busy.delete(worker);
    worker.unref();
    idle.push(worker);
    if (answer.isDone) waiting?.resolve(answer.result);
    else waiting?.reject(restore(answer.error));
    pump();
  }

  function lose(worker: Worker, cause: unknown): void {
    if (!workers.delete(worker)) return;
    const waiting = busy.get(worker);
    busy.delete(worker);
    const place = idle.indexOf(worker);
    if (place >= 0) idle.splice(place, 1);
    waiting?.reject(
      new AgentError('AGENT_THREAD_LOST', 'a cryptography thread ended before its answer', { cause }),
    );
    if (isClosed) return;
    addWorker();
    pump();
  }

  function pump(): void {
    while (queue.length > 0 && idle.length > 0) {
      const waiting = queue.shift() as Waiting<Task, Result>;
      const worker = idle.pop() as Worker;
      busy.set(worker, waiting);
      worker.ref();
      worker.postMessage(waiting.task, waiting.transfer);
    }
  }

  for (let count = 0; count < size; count++) addWorker();
  return {
    run(task, transfer = []) {
      if (isClosed) return Promise.reject(new AgentError('AGENT_CLOSED', 'the agent is closed'));
      return new Promise((resolve, reject) => {
        queue.push({ task, transfer, resolve, reject });
        pump();
      });
    },
    async close() {
      isClosed = true;
      for (const waiting of queue.splice(0))
        waiting.reject(new AgentError('AGENT_CLOSED', 'the agent is closed'));
      await Promise.all([...workers].map((worker) => worker.terminate()));
    },
  };
}
