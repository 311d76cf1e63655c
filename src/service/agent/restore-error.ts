import { CodedError } from '../../core/index.ts';
import { DirectError, directErrors, type DirectErrorCode } from '../../lib/direct/index.ts';
import type { ThreadFailure } from './thread-pool.ts';

const reasonTable = { AGENT_THREAD_REASON: { kind: 'internal' } } as const;

/** What lay beneath an error of a thread: only its code crosses. */
class ThreadReason extends CodedError<string> {
  constructor(code: string) {
    super({ [code]: reasonTable.AGENT_THREAD_REASON }, code, code);
  }
}

/** Turns what a thread reported into the error that it was there. */
export function restoreError(failure: ThreadFailure): Error {
  if (failure.module !== 'direct' || !(failure.code in directErrors)) return new Error(failure.message);
  const cause = failure.reason === failure.code ? {} : { cause: new ThreadReason(failure.reason) };
  return new DirectError(failure.code as DirectErrorCode, failure.message, cause);
}
