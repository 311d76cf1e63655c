import type { Certificate } from './certificate.ts';
import type { PkiErrorCode } from './errors.ts';
import type { ValidationBudget } from './validation-budget.ts';

/** A revocation query about one link of a path whose signatures were verified. */
export interface RevocationQuery {
  readonly certificate: Certificate;
  readonly issuer: Certificate;
  /** Certificates among which a CRL signer of the issuer's name may be. */
  readonly candidates: readonly Certificate[];
  /**
   * True if a path leads from the certificate of a CRL signer to the anchor of this path (RFC 5280 §6.3.3
   * (f)).
   */
  isCertified?(signer: Certificate): Promise<boolean>;
  readonly at: Date;
  /** Limits the downloads. */
  readonly budget?: ValidationBudget;
}

/** The revocation status of one certificate (TRUST-06). */
export interface Revocation {
  readonly status: 'good' | 'revoked' | 'unknown';
  /** Why it is unknown; `PKI_CRL_*` or `PKI_REVOCATION_UNCHECKABLE`. */
  readonly code?: PkiErrorCode;
  /** For `revoked` the CRL's reason, for example `keyCompromise`; for `unknown` a sentence for operators. */
  readonly reason?: string;
  /** Trying again later can change `unknown`. */
  readonly isTransient?: boolean;
  readonly crlUrl?: string;
  readonly thisUpdate?: Date;
  readonly nextUpdate?: Date;
  readonly revokedAt?: Date;
  /** The CRL is past its nextUpdate but within the grace time. */
  readonly isOverdue?: boolean;
}

/** Something that did not refuse the path but that an operator should know. */
export interface PathWarning {
  readonly code: string;
  readonly text: string;
}
