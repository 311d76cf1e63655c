import { Worker, type TransferListItem } from 'node:worker_threads';
import {
  CodedError,
  type Closable,
  type TaskAnswer,
  type TaskFailure,
  type TaskQuestion,
} from '../../core/index.ts';
import { PlatformError } from '../errors.ts';

/** A thread that works on tasks, so that long ones do not hold up the event loop here. */
export interface TaskThread<Task, Result> extends Closable {
  /**
   * Runs one task. What is listed in `transfer` moves to the thread and is lost here. A coded error of the task is
   * thrown here with its code and kind; PLATFORM_THREAD_LOST if the thread ends before the answer.
   */
  run(task: Task, transfer?: readonly TransferListItem[]): Promise<Result>;
}

interface Waiting<Result> {
  resolve(result: Result): void;
  reject(error: Error): void;
}

/** The thread is started by its first task and ended when it has had none for a while. */
const idleMs = 60_000;

/** `script` is a module that calls `serveTasks`. */
export function createTaskThread<Task, Result>(script: URL): TaskThread<Task, Result> {
  const waiting = new Map<number, Waiting<Result>>();
  let thread: Worker | undefined;
  let lastId = 0;
  let idleTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function start(): Worker {
    const started = new Worker(script);
    started.on('message', finish);
    started.on('error', (cause) => lose(started, cause));
    started.on('exit', () => lose(started, undefined));
    return started;
  }

  function finish(answer: TaskAnswer<Result>): void {
    const task = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (waiting.size === 0) rest();
    if ('result' in answer) task?.resolve(answer.result);
    else task?.reject(restoreError(answer.failure));
  }

  /** A thread without a task neither keeps the process alive nor its memory for long. */
  function rest(): void {
    thread?.unref();
    idleTimer = setTimeout(() => void end(), idleMs).unref();
  }

  function lose(lost: Worker, cause: unknown): void {
    if (thread !== lost) return;
    thread = undefined;
    const error = new PlatformError('PLATFORM_THREAD_LOST', 'a thread ended before its answer', { cause });
    for (const task of waiting.values()) task.reject(error);
    waiting.clear();
  }

  async function end(): Promise<void> {
    clearTimeout(idleTimer);
    await thread?.terminate();
  }

  return {
    run(task, transfer = []) {
      if (isClosed)
        return Promise.reject(new PlatformError('PLATFORM_THREAD_LOST', 'the threads are closed'));
      clearTimeout(idleTimer);
      thread ??= start();
      thread.ref();
      const question: TaskQuestion<Task> = { id: ++lastId, task };
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      waiting.set(question.id, { resolve, reject });
      thread.postMessage(question, transfer);
      return promise;
    },
    async close() {
      isClosed = true;
      await end();
    },
  };
}

/** An error that was thrown in a thread, with everything that the edges and retry logic read. */
class RestoredError extends CodedError {
  constructor({ code, kind, isTransient, publicMessage, message, problems }: TaskFailure & { coded: true }) {
    super({ [code]: { kind, isTransient, publicMessage } }, code, message, { problems });
  }
}

function restoreError(failure: TaskFailure): Error {
  return failure.coded ? new RestoredError(failure) : new Error(failure.message);
}
