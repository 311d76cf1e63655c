import { Worker, type TransferListItem } from 'node:worker_threads';
import type { Closable } from '../index.ts';
import { ThreadError } from './errors.ts';
import { restoreCoded, restoreError } from './restore-error.ts';
import type { CodedFailure, TaskAnswer } from './serve-tasks.ts';

/**
 * Threads that work on tasks, one at a time each, first come first served, so that long ones do not hold up
 * the event loop here.
 */
export interface TaskThreads<Task, Result> extends Closable {
  /**
   * Runs one task. Objects in `transfer` move to the thread and are lost here. Rejects with the error that
   * the task threw, with THREAD_LOST if its thread ends before the answer, and after `close`, or with a
   * DataCloneError if the task cannot be passed on. With the reason of `signal` if it is aborted before a
   * thread has begun; a task that has begun goes on.
   */
  run(task: Task, transfer?: readonly TransferListItem[], signal?: AbortSignal): Promise<Result>;
}

export interface TaskThreadsOptions {
  /** At most so many; 1 if omitted. */
  readonly threads?: number;
  /**
   * Started at once and kept, so that no task waits for a start. Otherwise started by tasks, and ended when
   * idle for `idleMs`.
   */
  readonly staysReady?: boolean;
  readonly idleMs?: number;
  /**
   * Makes an error of a coded one's description; by default one with everything that the edges and retry
   * logic read.
   */
  readonly restore?: (failure: CodedFailure) => Error;
  /** Megabytes of JavaScript objects that a thread may hold; Node's default if omitted. */
  readonly maxHeapMb?: number;
}

interface Waiting<Task, Result> {
  readonly task: Task;
  readonly transfer: readonly TransferListItem[];
  resolve(result: Result): void;
  reject(error: Error): void;
}

const defaultIdleMs = 60_000;

/** `script` is a module that calls `serveTasks`. */
export function createTaskThreads<Task, Result>(
  script: URL,
  options: TaskThreadsOptions = {},
): TaskThreads<Task, Result> {
  const {
    threads = 1,
    staysReady = false,
    idleMs = defaultIdleMs,
    restore = restoreCoded,
    maxHeapMb,
  } = options;
  const queue: Waiting<Task, Result>[] = [];
  const workers = new Set<Worker>();
  const busy = new Map<Worker, Waiting<Task, Result>>();
  let idle: Worker[] = [];
  let idleTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function start(): void {
    const worker = new Worker(
      script,
      maxHeapMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } },
    );
    workers.add(worker);
    idle.push(worker);
    worker.on('message', (answer: TaskAnswer<Result>) => finish(worker, answer));
    worker.on('error', (cause) => onWorkerLost(worker, cause));
    worker.on('exit', () => onWorkerLost(worker, undefined));
    // An idle thread does not keep the process alive.
    worker.unref();
  }

  function pump(): void {
    clearTimeout(idleTimer);
    while (queue.length > 0) {
      if (idle.length === 0 && workers.size >= threads) return;
      if (idle.length === 0) start();
      send(queue.shift() as Waiting<Task, Result>, idle.pop() as Worker);
    }
    if (!staysReady && busy.size === 0) idleTimer = setTimeout(endIdle, idleMs).unref();
  }

  function send(waiting: Waiting<Task, Result>, worker: Worker): void {
    try {
      worker.postMessage(waiting.task, waiting.transfer);
    } catch (error) {
      // What cannot be passed on, such as memory that was given away before, fails its own task and costs no
      // thread.
      idle.push(worker);
      waiting.reject(error as Error);
      return;
    }
    busy.set(worker, waiting);
    worker.ref();
  }

  function finish(worker: Worker, answer: TaskAnswer<Result>): void {
    const waiting = busy.get(worker);
    busy.delete(worker);
    // One that is being closed is waited for.
    if (!isClosed) worker.unref();
    idle.push(worker);
    if ('result' in answer) waiting?.resolve(answer.result);
    else waiting?.reject(restoreError(answer.failure, restore));
    if (!isClosed) pump();
  }

  function onWorkerLost(worker: Worker, cause: unknown): void {
    if (!workers.delete(worker)) return;
    idle = idle.filter((one) => one !== worker);
    busy.get(worker)?.reject(new ThreadError('THREAD_LOST', 'a thread ended before its answer', { cause }));
    busy.delete(worker);
    if (!isClosed) pump();
  }

  /** A thread that is ending is not counted: a new task gets a new thread. */
  function endIdle(): void {
    for (const worker of idle.splice(0)) {
      workers.delete(worker);
      void worker.terminate();
    }
  }

  if (staysReady) for (let count = 0; count < threads; count++) start();
  return {
    run(task, transfer = [], signal) {
      if (isClosed) return Promise.reject(closedError());
      if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      const waiting = { task, transfer, resolve, reject };
      queue.push(waiting);
      pump();
      if (signal === undefined || !queue.includes(waiting)) return promise;
      const drop = (): void => {
        const place = queue.indexOf(waiting);
        if (place === -1) return;
        queue.splice(place, 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', drop, { once: true });
      return promise.finally(() => signal.removeEventListener('abort', drop));
    },
    async close() {
      isClosed = true;
      clearTimeout(idleTimer);
      for (const waiting of queue.splice(0)) waiting.reject(closedError());
      await Promise.all([...workers].map((worker) => worker.terminate()));
    },
  };
}

function closedError(): ThreadError {
  return new ThreadError('THREAD_LOST', 'the threads are closed');
}
