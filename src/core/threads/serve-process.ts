/** A process's side of `runInProcess`. */
import { constants, setPriority } from 'node:os';
import { describeFailure, type TaskFailure } from './serve-tasks.ts';

/** What a process sends: reports, then one answer. */
export type ProcessAnswer<Result, Note> =
  | { readonly note: Note }
  | { readonly result: Result }
  | { readonly failure: TaskFailure };

/**
 * Does the one task of the process that started this one, with less claim to the processor than that one, and
 * ends with it. Signals to both, of a terminal or a service manager, are for that one to decide about.
 */
export function serveProcess<Task, Result, Note>(
  work: (task: Task, tell: (note: Note) => void) => Promise<Result>,
): void {
  lowerPriority();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const send = (answer: ProcessAnswer<Result, Note>, done?: () => void): void => {
    if (process.connected) process.send?.(answer, undefined, undefined, done);
  };
  process.once('disconnect', () => process.exit(1));
  process.once('message', (task: Task) => {
    work(task, (note) => send({ note })).then(
      (result) => send({ result }, () => process.exit(0)),
      (error: unknown) => send({ failure: describeFailure(error) }, () => process.exit(0)),
    );
  });
}

// Threads that are started later inherit it. A system that refuses is one where it does not matter.
function lowerPriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    return;
  }
}
