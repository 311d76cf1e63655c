import { codedError, type ErrorTable } from '../../core/index.ts';

export const smimeErrors = {
  // Sending: a message that would have no signer or no recipient is refused.
  SMIME_NO_SIGNERS: { kind: 'internal' },
  SMIME_SIGNING_KEY_NOT_ALLOWED: { kind: 'internal' },
  SMIME_SIGNING_KEY_MISMATCH: { kind: 'internal' },
  SMIME_SIGNING_KEY_USAGE: { kind: 'internal' },
  SMIME_NO_RECIPIENTS: { kind: 'untrusted' },
  SMIME_RECIPIENT_KEY_NOT_ALLOWED: { kind: 'untrusted' },
  SMIME_RECIPIENT_KEY_USAGE: { kind: 'untrusted' },
  // Structure.
  SMIME_CMS_MALFORMED: { kind: 'invalid-input' },
  SMIME_TRAILING_DATA: { kind: 'invalid-input' },
  /** The body is base64, but its Content-Transfer-Encoding says something else. */
  SMIME_TRANSFER_ENCODING_INVALID: { kind: 'invalid-input' },
  /** Another algorithm than zlib, or one compression inside another. */
  SMIME_COMPRESSION_UNSUPPORTED: { kind: 'invalid-input' },
  SMIME_COMPRESSED_TOO_LARGE: { kind: 'too-large' },
  SMIME_CONTENT_TYPE_UNEXPECTED: { kind: 'invalid-input' },
  SMIME_TOO_MANY_SIGNERS: { kind: 'too-large' },
  SMIME_TOO_MANY_RECIPIENTS: { kind: 'too-large' },
  SMIME_TOO_MANY_CERTIFICATES: { kind: 'too-large' },
  // Decryption. Faults of key, padding and content share one code, so that nobody can distinguish them.
  SMIME_NOT_ENCRYPTED: { kind: 'untrusted' },
  /** An encrypted part, with another one next to it that is in the clear. */
  SMIME_PARTLY_ENCRYPTED: { kind: 'untrusted' },
  SMIME_ENCRYPTED_CONTENT_MISSING: { kind: 'invalid-input' },
  SMIME_CONTENT_CIPHER_UNSUPPORTED: { kind: 'untrusted' },
  SMIME_CONTENT_CIPHER_NOT_ALLOWED: { kind: 'untrusted' },
  SMIME_KEY_MANAGEMENT_UNSUPPORTED: { kind: 'untrusted' },
  SMIME_NO_RECIPIENT_KEY: { kind: 'untrusted' },
  SMIME_DECRYPTION_FAILED: { kind: 'untrusted' },
  // Signed entities as a whole.
  SMIME_NOT_SIGNED: { kind: 'untrusted' },
  SMIME_MULTIPART_SIGNED_MALFORMED: { kind: 'invalid-input' },
  /**
   * Bytes outside of the signed part that are not text, as blocks of a CBC message leave when they are moved.
   */
  SMIME_UNSIGNED_NOT_TEXT: { kind: 'untrusted' },
  SMIME_SIGNED_CONTENT_MISSING: { kind: 'invalid-input' },
  SMIME_SIGNED_CONTENT_AMBIGUOUS: { kind: 'untrusted' },
  SMIME_CERTIFICATES_MISSING: { kind: 'untrusted' },
  /** The certificate that a signer names is missing, and an enclosed certificate is malformed. */
  SMIME_CERTIFICATE_MALFORMED: { kind: 'untrusted' },
  // One signer.
  SMIME_SIGNER_MALFORMED: { kind: 'untrusted' },
  SMIME_SIGNER_CERTIFICATE_MISSING: { kind: 'untrusted' },
  SMIME_SIGNER_KEY_NOT_ALLOWED: { kind: 'untrusted' },
  SMIME_DIGEST_UNSUPPORTED: { kind: 'untrusted' },
  SMIME_DIGEST_NOT_ALLOWED: { kind: 'untrusted' },
  SMIME_SIGNATURE_ALGORITHM_UNSUPPORTED: { kind: 'untrusted' },
  SMIME_SIGNATURE_ALGORITHM_MISMATCH: { kind: 'untrusted' },
  SMIME_SIGNED_ATTRIBUTE_MISSING: { kind: 'untrusted' },
  SMIME_SIGNED_ATTRIBUTE_DUPLICATE: { kind: 'untrusted' },
  SMIME_SIGNED_ATTRIBUTES_STRIPPED: { kind: 'untrusted' },
  SMIME_SIGNED_CONTENT_TYPE_MISMATCH: { kind: 'untrusted' },
  SMIME_ALGORITHM_PROTECTION_MISMATCH: { kind: 'untrusted' },
  SMIME_DIGEST_MISMATCH: { kind: 'untrusted' },
  SMIME_SIGNATURE_INVALID: { kind: 'untrusted' },
} as const satisfies ErrorTable;

export type SmimeErrorCode = keyof typeof smimeErrors;

export class SmimeError extends codedError(smimeErrors) {}
