/** The thread's side of a task thread (`createTaskThread` in platform). */
import { parentPort, type TransferListItem } from 'node:worker_threads';
import { CodedError, errorText, type ErrorKind, type FieldProblem } from './errors.ts';

export interface TaskQuestion<Task> {
  readonly id: number;
  readonly task: Task;
}

export type TaskAnswer<Result> =
  | { readonly id: number; readonly result: Result }
  | { readonly id: number; readonly failure: TaskFailure };

/** An error as it crosses from the thread. */
export type TaskFailure =
  | { readonly coded: false; readonly message: string }
  | {
      readonly coded: true;
      readonly code: string;
      readonly kind: ErrorKind;
      readonly isTransient: boolean;
      readonly publicMessage: string;
      readonly message: string;
      readonly problems: readonly FieldProblem[];
    };

// Smaller ones may lie in memory that Node shares out, and copying them costs nothing.
const leastMovedBytes = 64 * 1024;

/** What to hand over so that large bytes move to another thread without being copied. The sender loses them. */
export function listMoved(pieces: readonly Uint8Array[]): TransferListItem[] {
  const large = pieces.filter((piece) => piece.byteLength >= leastMovedBytes);
  return large.flatMap(({ buffer }) => (buffer instanceof ArrayBuffer ? [buffer] : []));
}

/** Answers the tasks of the thread that started this one. `moved` lists the large bytes of a result. */
export function serveTasks<Task, Result>(
  work: (task: Task) => Promise<Result>,
  moved: (result: Result) => readonly Uint8Array[],
): void {
  const answer = async ({ id, task }: TaskQuestion<Task>): Promise<void> => {
    try {
      const result = await work(task);
      parentPort?.postMessage({ id, result } satisfies TaskAnswer<Result>, listMoved(moved(result)));
    } catch (error) {
      parentPort?.postMessage({ id, failure: describe(error) } satisfies TaskAnswer<Result>);
    }
  };
  parentPort?.on('message', (question: TaskQuestion<Task>) => void answer(question));
}

function describe(error: unknown): TaskFailure {
  if (!(error instanceof CodedError)) return { coded: false, message: errorText(error) };
  const { code, kind, isTransient, publicMessage, message, problems } = error;
  return { coded: true, code, kind, isTransient, publicMessage, message, problems };
}
