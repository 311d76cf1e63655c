import { errorCode } from '../../core/index.ts';
import { AnswerableError, DirectError, type AnswerableMessage } from '../../lib/direct/index.ts';

/**
 * The code of a refusal, for audit and operators: of a sender that is not trusted what is wrong with its certificates, since an anchor
 * helps against only one of these faults.
 */
export function refusalReason(error: unknown): string {
  return error instanceof DirectError && error.code === 'DIRECT_SENDER_UNTRUSTED'
    ? error.reason
    : errorCode(error);
}

/** The message of a refusal that its trusted sender may be told of; undefined for any other error. */
export function findAnswerable(error: unknown): AnswerableMessage | undefined {
  return error instanceof AnswerableError ? error.answerable : undefined;
}
