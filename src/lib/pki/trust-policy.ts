/** Trust settings (Decision 0016). The defaults are the strict reading of the 2021 edition. */
export interface TrustPolicy {
  /** AS-14. */
  readonly minRsaBits: number;
  /** AS-20: accept certificates (not anchors) whose own signature is made with SHA-1. */
  readonly allowSha1Certificates: boolean;
  /**
   * TRUST-07: whether a path without a usable CRL is accepted with a warning or refused. `off` asks for no
   * CRL at all.
   */
  readonly revocation: 'soft-fail' | 'hard-fail' | 'off';
  /** AS-17: accept an end-entity certificate that says it is a CA. */
  readonly allowCaAsEndEntity: boolean;
  /** AS-16: refuse an end-entity certificate without the key usage extension. */
  readonly requireKeyUsage: boolean;
  /**
   * AS-12: as in the edition of 2015, an emailAddress in the subject, if there is one, must agree with the
   * address or its domain.
   */
  readonly requireSubjectMatch: boolean;
  /**
   * AS-19: each entry must be met by a policy of the end-entity certificate. `1.2.3.*` is met by any OID
   * below `1.2.3`.
   */
  readonly requiredPolicies: readonly string[];
}

export const defaultTrustPolicy: TrustPolicy = {
  minRsaBits: 2048,
  allowSha1Certificates: false,
  revocation: 'soft-fail',
  allowCaAsEndEntity: false,
  requireKeyUsage: false,
  requireSubjectMatch: false,
  requiredPolicies: [],
};

/**
 * The published DirectTrust interoperability policy: key usage, a level of assurance and an entity category
 * (AS-19).
 */
export const directTrustPolicy: TrustPolicy = {
  ...defaultTrustPolicy,
  requireKeyUsage: true,
  requiredPolicies: ['1.3.6.1.4.1.41179.1.*', '1.3.6.1.4.1.41179.2.*'],
};

/**
 * Largest RSA key whose signature is checked: the cost grows with the square of the size, and an outsider
 * chooses the key.
 */
export const maxRsaBits = 8192;
/** Certificates in a path, both ends included. Published Direct hierarchies have at most 4. */
export const maxPathCertificates = 8;
/** Issuers tried in one search; stops a set of look-alikes from buying time. */
export const maxIssuersTried = 48;
/** Times one search may fetch issuers (TRUST-05). */
export const maxIssuerFetches = 4;

/** Limits of one `ValidationBudget`, which all paths of a message share. */
export const maxIssuersTriedPerBudget = 128;
/** Signatures verified in one turn of the event loop: with the slowest keys some 10 ms. */
export const issuersPerTurn = 8;
/** Some 30 ms. A published hierarchy has at most some dozen constraints, and a certificate a name or two. */
export const maxNameComparisons = 500_000;
export const maxIssuerFetchesPerBudget = 8;
export const maxFetches = 16;
export const maxFetchMs = 15_000;
