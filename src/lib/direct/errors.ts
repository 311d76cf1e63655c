/**
 * Why the agent refuses a message, a sender or a recipient. `cause` keeps the finding of the module beneath.
 */
import { codedError, CodedError, type ErrorOptionsFor, type ErrorTable } from '../../core/index.ts';
import type { Certificate } from '../pki/index.ts';
import type { DirectAddress } from '../values/index.ts';

export const directErrors = {
  // The message to be sent, or the one inside.
  DIRECT_NO_SENDER: { kind: 'invalid-input' },
  DIRECT_SENDER_AMBIGUOUS: { kind: 'untrusted' },
  DIRECT_NO_RECIPIENTS: { kind: 'invalid-input' },
  DIRECT_HEADER_MISSING: { kind: 'invalid-input' },
  DIRECT_BLIND_COPY: { kind: 'invalid-input' },
  DIRECT_MESSAGE_MALFORMED: { kind: 'invalid-input' },
  /** A part that is not text would be changed by the line ends that a signed message must have. */
  DIRECT_BINARY_PART: { kind: 'invalid-input' },
  // Sending.
  DIRECT_SENDER_CERTIFICATE_UNUSABLE: { kind: 'internal' },
  DIRECT_RECIPIENT_NOT_VISIBLE: { kind: 'invalid-input' },
  DIRECT_NO_TRUSTED_RECIPIENTS: { kind: 'untrusted' },
  DIRECT_RECIPIENT_CERTIFICATE_MISSING: { kind: 'not-found' },
  DIRECT_RECIPIENT_CERTIFICATES_INVALID: { kind: 'untrusted' },
  DIRECT_RECIPIENT_UNTRUSTED: { kind: 'untrusted' },
  DIRECT_RECIPIENT_UNDECIDED: { kind: 'unavailable' },
  DIRECT_SEAL_FAILED: { kind: 'internal' },
  // Receiving.
  DIRECT_NOT_ENCRYPTED: { kind: 'untrusted' },
  DIRECT_UNKNOWN_RECIPIENT: { kind: 'untrusted' },
  DIRECT_ENCRYPTION_INVALID: { kind: 'untrusted' },
  DIRECT_ENCRYPTION_NOT_ALLOWED: { kind: 'untrusted' },
  DIRECT_NOT_SIGNED: { kind: 'untrusted' },
  DIRECT_SENDER_CERTIFICATE_MISSING: { kind: 'untrusted' },
  DIRECT_SENDER_CERTIFICATE_UNREADABLE: { kind: 'untrusted' },
  DIRECT_SIGNATURE_INVALID: { kind: 'untrusted' },
  DIRECT_SIGNATURE_NOT_ALLOWED: { kind: 'untrusted' },
  DIRECT_UNSIGNED_NOT_TEXT: { kind: 'untrusted' },
  DIRECT_NOT_WRAPPED: { kind: 'untrusted' },
  DIRECT_SENDER_SIGNATURE_MISSING: { kind: 'untrusted' },
  DIRECT_SENDER_UNTRUSTED: { kind: 'untrusted' },
  DIRECT_SENDER_UNDECIDED: { kind: 'unavailable' },
  DIRECT_SENDER_NEEDS_FETCH: { kind: 'unavailable' },
  DIRECT_ENVELOPE_SENDER_MISMATCH: { kind: 'untrusted' },
  DIRECT_ENVELOPE_RECIPIENT_MISMATCH: { kind: 'untrusted' },
  // Configuration.
  DIRECT_POLICY_INVALID: { kind: 'invalid-input' },
} as const satisfies ErrorTable;

export type DirectErrorCode = keyof typeof directErrors;

export class DirectError extends codedError(directErrors) {
  /**
   * The most exact reason known, as a code of the trust modules: the innermost such cause's code, or this
   * error's own.
   */
  get reason(): string {
    let reason: string = this.code;
    for (let cause = this.cause; cause instanceof CodedError; cause = cause.cause) {
      if (reasonFamily.test(cause.code)) reason = cause.code;
    }
    return reason;
  }
}

/**
 * A message that its trusted sender has signed and that cannot be accepted as it is: the sender may be told.
 */
export interface AnswerableMessage {
  /** To whom a trusted signer is bound: the message's sender, or that of the envelope if it names none. */
  readonly sender: DirectAddress;
  /** Those of the envelope whose domain trusts the sender. */
  readonly recipients: readonly DirectAddress[];
  readonly inner: Uint8Array;
}

/**
 * The refusal of a message whose header names no certain sender or recipient, or does not fit its envelope,
 * but whose signer is trusted.
 */
export class AnswerableError extends DirectError {
  readonly answerable: AnswerableMessage;

  constructor(refusal: DirectError, answerable: AnswerableMessage) {
    super(refusal.code, refusal.message, { cause: refusal, fields: refusal.fields });
    this.answerable = answerable;
  }
}

/** Whose certificate a message is refused for, so that somebody can decide whether to trust it. */
export interface RefusedSigner {
  readonly certificate: Certificate;
  /**
   * Above it, lowest first, as far as the message, a fetch or the anchors had them and each key made the
   * signature below. Nothing else of them is checked.
   */
  readonly issuers: readonly Certificate[];
  /** Fingerprint of the last issuer if it is an anchor. */
  readonly anchor: string | undefined;
  /** Fingerprint of the certificate that is refused. */
  readonly failedAt: string;
}

/** The refusal of a message because of the certificate of its signer. */
export class RefusedSignerError extends DirectError {
  readonly signer: RefusedSigner;

  constructor(
    code: DirectErrorCode,
    signer: RefusedSigner,
    options: ErrorOptionsFor & { readonly cause: Error },
  ) {
    super(code, options.cause.message, options);
    this.signer = signer;
  }
}

/** Errors of lower layers (encodings, MIME, fetching) say how something failed, not why it is refused. */
const reasonFamily = /^(?:DIRECT|PKI|SMIME)_/;

/**
 * An error of OpenSSL or of its binding: about a key or a value of the message, never a fault of the program
 * that has its own code.
 */
export function isCryptoError(error: unknown): error is Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('ERR_OSSL_') || code.startsWith('ERR_CRYPTO_');
}
