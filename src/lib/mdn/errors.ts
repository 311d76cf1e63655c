import { codedError, type ErrorTable } from '../../core/index.ts';

export const mdnErrors = {
  /** A delivery status notification without a recipient. */
  MDN_NO_RECIPIENTS: { kind: 'invalid-input' },
  /** A status that has not the form of RFC 3463, for example `5.7.1`. */
  MDN_STATUS_CODE_INVALID: { kind: 'invalid-input' },
} as const satisfies ErrorTable;

/**
 * Thrown by the writers of this module; addresses that cannot be written are MimeError. Reading never throws
 * these.
 */
export class MdnError extends codedError(mdnErrors) {}
