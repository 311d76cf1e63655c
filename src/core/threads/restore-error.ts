import { CodedError } from '../index.ts';
import type { CodedFailure, TaskFailure } from './serve-tasks.ts';

/** The error that a task threw elsewhere. */
export function restoreError(failure: TaskFailure, restore: (failure: CodedFailure) => Error): Error {
  return failure.coded ? restore(failure) : new Error(failure.message);
}

class RestoredError extends CodedError {
  constructor({ code, kind, isTransient, publicMessage, message, problems }: CodedFailure) {
    super({ [code]: { kind, isTransient, publicMessage } }, code, message, { problems });
  }
}

/** An error with everything that the edges and retry logic read. */
export const restoreCoded = (failure: CodedFailure): Error => new RestoredError(failure);
