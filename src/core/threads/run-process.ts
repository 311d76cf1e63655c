import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ThreadError } from './errors.ts';
import { restoreCoded, restoreError } from './restore-error.ts';
import type { ProcessAnswer } from './serve-process.ts';

export interface ProcessListeners<Note> {
  /** What the task reports while it runs. */
  readonly onNote?: (note: Note) => void;
  /** Ends the process; the result is then rejected with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Runs one task in a separate process, so that its memory ends with it and nothing of it holds up the event
 * loop here. `script` is a module that calls `serveProcess`. Rejects with the error that the task threw, or
 * with THREAD_PROCESS_LOST if the process ends before its answer, however that happens. The process ends when
 * this one does.
 */
export async function runInProcess<Task, Result, Note = never>(
  script: URL,
  task: Task,
  { onNote, signal }: ProcessListeners<Note> = {},
): Promise<Result> {
  signal?.throwIfAborted();
  const child = fork(fileURLToPath(script), [], {
    // Options for serving are not meant for it; standard output may be the log of this process.
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  const end = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', end, { once: true });
  try {
    const answer = await readAnswer<Task, Result, Note>(child, task, onNote);
    if ('result' in answer) return answer.result;
    throw restoreError(answer.failure, restoreCoded);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', end);
  }
}

type Answer<Result> = Exclude<ProcessAnswer<Result, never>, { readonly note: never }>;

/** Settled when the process has ended and everything that it has sent has been read. */
function readAnswer<Task, Result, Note>(
  child: ChildProcess,
  task: Task,
  onNote: ((note: Note) => void) | undefined,
): Promise<Answer<Result>> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer<Result>>();
  let answer: Answer<Result> | undefined;
  let [isGone, isRead, how] = [false, false, ''];
  const settle = (): void => {
    if (!isGone || !isRead) return;
    if (answer !== undefined) resolve(answer);
    else reject(new ThreadError('THREAD_PROCESS_LOST', `a process ended before its answer: ${how}`));
  };
  child.on('message', (message) => {
    const received = message as ProcessAnswer<Result, Note>;
    if ('note' in received) onNote?.(received.note);
    else answer = received;
  });
  child.once('exit', (code, signalName) => {
    how = signalName ?? `exit code ${code}`;
    isGone = true;
    settle();
  });
  child.once('disconnect', () => {
    isRead = true;
    settle();
  });
  child.once('error', (cause) =>
    reject(new ThreadError('THREAD_PROCESS_LOST', 'a process could not be started', { cause })),
  );
  // A process that has ended already reports that by its exit.
  child.send(task as object, () => {});
  return promise;
}
