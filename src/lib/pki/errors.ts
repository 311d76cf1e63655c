/**
 * The refusals of this module, one code per reason, so that an operator sees why and a test can provoke each.
 */
import { codedError, type ErrorTable } from '../../core/index.ts';

export const pkiErrors = {
  // Reading.
  PKI_CERTIFICATE_MALFORMED: { kind: 'invalid-input' },
  PKI_KEY_MALFORMED: { kind: 'invalid-input' },
  PKI_CERTIFICATE_SET_MALFORMED: { kind: 'invalid-input' },
  PKI_TOO_MANY_CERTIFICATES: { kind: 'too-large' },
  PKI_TOO_LARGE: { kind: 'too-large' },
  // The certificate itself.
  PKI_NOT_BOUND: { kind: 'untrusted' },
  PKI_NAME_MALFORMED: { kind: 'untrusted' },
  PKI_NOT_YET_VALID: { kind: 'untrusted' },
  PKI_EXPIRED: { kind: 'untrusted' },
  PKI_KEY_ALGORITHM: { kind: 'untrusted' },
  PKI_KEY_TOO_WEAK: { kind: 'untrusted' },
  /** An RSA key with an invalid exponent or modulus. */
  PKI_KEY_INVALID: { kind: 'untrusted' },
  PKI_KEY_USAGE: { kind: 'untrusted' },
  PKI_EXTENDED_KEY_USAGE: { kind: 'untrusted' },
  PKI_END_ENTITY_IS_CA: { kind: 'untrusted' },
  PKI_CRITICAL_EXTENSION: { kind: 'untrusted' },
  PKI_POLICY_MISSING: { kind: 'untrusted' },
  // The path.
  PKI_NO_ANCHORS: { kind: 'untrusted' },
  PKI_ISSUER_NOT_FOUND: { kind: 'untrusted' },
  PKI_ISSUER_UNAVAILABLE: { kind: 'unavailable' },
  /** The issuer would have to be fetched, and the caller does not allow it. */
  PKI_FETCH_NEEDED: { kind: 'unavailable' },
  /** The fetches or the time for one message are exhausted. */
  PKI_FETCH_LIMIT: { kind: 'unavailable' },
  PKI_SIGNATURE_ALGORITHM: { kind: 'untrusted' },
  PKI_SIGNATURE_INVALID: { kind: 'untrusted' },
  PKI_ISSUER_NOT_CA: { kind: 'untrusted' },
  PKI_ISSUER_KEY_USAGE: { kind: 'untrusted' },
  PKI_PATH_LENGTH: { kind: 'untrusted' },
  PKI_PATH_TOO_LONG: { kind: 'untrusted' },
  PKI_PATH_TOO_BROAD: { kind: 'untrusted' },
  PKI_NAME_CONSTRAINT: { kind: 'untrusted' },
  // Revocation.
  PKI_REVOKED: { kind: 'untrusted' },
  PKI_REVOCATION_UNKNOWN: { kind: 'unavailable' },
  PKI_REVOCATION_UNCHECKABLE: { kind: 'untrusted' },
  PKI_CRL_MALFORMED: { kind: 'invalid-input' },
  PKI_CRL_ISSUER: { kind: 'untrusted' },
  PKI_CRL_SIGNATURE: { kind: 'untrusted' },
  PKI_CRL_NOT_YET_VALID: { kind: 'untrusted' },
  PKI_CRL_STALE: { kind: 'untrusted' },
  PKI_CRL_SCOPE: { kind: 'untrusted' },
  PKI_CRL_DELTA: { kind: 'untrusted' },
  PKI_CRL_CRITICAL_EXTENSION: { kind: 'untrusted' },
  PKI_CRL_UNAVAILABLE: { kind: 'unavailable' },
  // Trust bundles.
  PKI_BUNDLE_MALFORMED: { kind: 'invalid-input' },
  PKI_BUNDLE_UNSIGNED: { kind: 'untrusted' },
  PKI_BUNDLE_SIGNATURE: { kind: 'untrusted' },
} as const satisfies ErrorTable;

export type PkiErrorCode = keyof typeof pkiErrors;

export class PkiError extends codedError(pkiErrors) {}
