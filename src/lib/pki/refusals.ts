import type { PkiError, PkiErrorCode } from './errors.ts';

/** Collects why paths failed, to report the reason that says most. */
export interface Refusals {
  note(error: PkiError): void;
  /** The most telling refusal so far. */
  readonly worst: PkiError | undefined;
}

// A revoked certificate is the strongest finding; an unfinished search asks to be retried before anything is
// called final; "no issuer" and "not signed by that key" only say that one of several ways was none.
const weights: Partial<Record<PkiErrorCode, number>> = {
  PKI_REVOKED: 4,
  PKI_ISSUER_UNAVAILABLE: 3,
  PKI_FETCH_NEEDED: 3,
  PKI_FETCH_LIMIT: 3,
  PKI_REVOCATION_UNKNOWN: 3,
  PKI_SIGNATURE_INVALID: 1,
  PKI_ISSUER_NOT_FOUND: 0,
};

export function createRefusals(): Refusals {
  let worst: PkiError | undefined;
  return {
    note: (error) => {
      if (worst === undefined || weightOf(error) > weightOf(worst)) worst = error;
    },
    get worst() {
      return worst;
    },
  };
}

function weightOf(error: PkiError): number {
  return weights[error.code] ?? 2;
}
