/** A thread's side of `createTaskThreads`. */
import { parentPort } from 'node:worker_threads';
import { CodedError, errorText, type ErrorKind, type FieldProblem } from '../index.ts';

/**
 * The module `name` next to the one whose `import.meta.url` is given: the sources run as .ts, a built package
 * as .js.
 */
export function threadScript(name: string, siblingUrl: string): URL {
  return new URL(`./${name}.${siblingUrl.endsWith('.ts') ? 'ts' : 'js'}`, siblingUrl);
}

/** A thread's answer to a task. */
export type TaskAnswer<Result> = { readonly result: Result } | { readonly failure: TaskFailure };

/** An error as passed on by the thread: only fields that are safe to log. */
export type TaskFailure = CodedFailure | { readonly coded: false; readonly message: string };

export interface CodedFailure {
  readonly coded: true;
  readonly code: string;
  readonly kind: ErrorKind;
  readonly isTransient: boolean;
  readonly publicMessage: string;
  readonly message: string;
  readonly problems: readonly FieldProblem[];
  /** The codes of its coded causes, the innermost last. */
  readonly causeCodes: readonly string[];
}

// Smaller ones may lie in memory that Node shares out, and copying them costs nothing.
const leastMovedBytes = 64 * 1024;

/** Buffers to transfer to another thread without copying. The sender loses them. */
export function listMoved(pieces: readonly Uint8Array[]): ArrayBuffer[] {
  const large = pieces.filter((piece) => piece.byteLength >= leastMovedBytes);
  return large.flatMap(({ buffer }) => (buffer instanceof ArrayBuffer ? [buffer] : []));
}

/** Answers the tasks of the thread that started this one. `moved` lists the large bytes of a result. */
export function serveTasks<Task, Result>(
  work: (task: Task) => Result | Promise<Result>,
  moved: (result: Result) => readonly Uint8Array[],
): void {
  const answer = async (task: Task): Promise<void> => {
    try {
      const result = await work(task);
      parentPort?.postMessage({ result } satisfies TaskAnswer<Result>, listMoved(moved(result)));
    } catch (error) {
      parentPort?.postMessage({ failure: describeFailure(error) } satisfies TaskAnswer<Result>);
    }
  };
  parentPort?.on('message', (task: Task) => void answer(task));
}

/** An error as another thread or process may know it. */
export function describeFailure(error: unknown): TaskFailure {
  if (!(error instanceof CodedError)) return { coded: false, message: errorText(error) };
  const { code, kind, isTransient, publicMessage, message, problems } = error;
  const causeCodes = listCauses(error);
  return { coded: true, code, kind, isTransient, publicMessage, message, problems, causeCodes };
}

function listCauses({ cause }: CodedError): readonly string[] {
  return cause instanceof CodedError ? [cause.code, ...listCauses(cause)] : [];
}
