import { errorCode } from '../../core/index.ts';
import { DirectError } from '../../lib/direct/index.ts';

/**
 * The code of a refusal, for audit and operators: of a sender that is not trusted what is wrong with its certificates, since an anchor
 * helps against only one of these faults.
 */
export function refusalReason(error: unknown): string {
  return error instanceof DirectError && error.code === 'DIRECT_SENDER_UNTRUSTED'
    ? error.reason
    : errorCode(error);
}
