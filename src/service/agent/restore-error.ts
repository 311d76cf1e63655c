import { CodedError } from '../../core/index.ts';
import { type CodedFailure } from '../../core/threads/index.ts';
import { DirectError, directErrors, type DirectErrorCode } from '../../lib/direct/index.ts';

const reasonTable = { AGENT_THREAD_REASON: { kind: 'internal' } } as const;

/** The cause of a thread's error: only its code is transferred. */
class ThreadReason extends CodedError<string> {
  constructor(code: string, cause: ThreadReason | undefined) {
    super({ [code]: reasonTable.AGENT_THREAD_REASON }, code, code, { cause });
  }
}

/** Restores the error of a thread. Anything else is an internal error. */
export function restoreError({ code, message, causeCodes }: CodedFailure): Error {
  if (!(code in directErrors)) return new Error(message);
  const cause = causeCodes.reduceRight<ThreadReason | undefined>(
    (beneath, causeCode) => new ThreadReason(causeCode, beneath),
    undefined,
  );
  return new DirectError(code as DirectErrorCode, message, { cause });
}
