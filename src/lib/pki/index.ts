/**
 * X.509 for Direct: reads certificates, keys, CRLs and trust bundles, and validates the path from a
 * certificate to an anchor.
 *
 * Standards: RFC 5280 (certificates, CRLs, path validation), RFC 7468 (PEM), RFC 5652 §5.1 (certificate
 * sets), RFC 8017, RFC 5480, Applicability Statement for Secure Health Transport chapters 1 and 4,
 * Decision 0016. Not supported: OCSP, delta and indirect CRLs, policy mapping, DSA and Ed25519 keys, OS or
 * browser root stores. No network, clock or storage: fetching and time are arguments. Used by lib/smime,
 * lib/direct, service/trust, service/agent, app/dev and the command line.
 */
export { pkiErrors, PkiError, type PkiErrorCode } from './errors.ts';
export { readCertificate, type Certificate } from './certificate.ts';
export { readCertificates } from './certificate-set.ts';
export { describeName, findNameKey } from './distinguished-name.ts';
export { nameCertificate, shortName } from './name-certificate.ts';
export { formatPem, readPem, type PemBlock } from './pem.ts';
export { readPrivateKey } from './private-key.ts';
export { isBoundTo, type Binding } from './binding.ts';
export type { KeyUsage } from './extensions.ts';
export type { KeyType } from './public-key-info.ts';
export {
  checkEndEntity,
  findValidityFault,
  type CertificateUse,
  type EndEntityRules,
} from './check-certificate.ts';
export { listIssuersAtHand } from './issuers-at-hand.ts';
export { validatePath, type ValidatedPath, type TrustContext } from './validate-path.ts';
export { createValidationBudget, type ValidationBudget } from './validation-budget.ts';
export { defaultTrustPolicy, directTrustPolicy, type TrustPolicy } from './trust-policy.ts';
export type { PathWarning, Revocation, RevocationQuery } from './revocation.ts';
export {
  createRevocationChecker,
  type RevocationChecker,
  type RevocationCheckerOptions,
} from './revocation-checker.ts';
export { createIssuerFetcher, type IssuerFetcher, type IssuerFetcherOptions } from './issuer-fetcher.ts';
export { readCrl, type Crl, type CrlReason } from './crl.ts';
export { verifyCrl, type CrlRules } from './verify-crl.ts';
export {
  readTrustBundle,
  type TrustBundle,
  type TrustBundleOptions,
  type VerifyBundleSignature,
} from './trust-bundle.ts';
export { writeTrustBundle } from './write-trust-bundle.ts';
export { createKeyPair, type KeyPair, type KeyPairOptions } from './key-pair.ts';
export {
  createCertificate,
  keyIdentifierOf,
  type CertificateRequest,
  type Issuer,
} from './create-certificate.ts';
export {
  createAuthority,
  issueDirectCertificate,
  issueServerCertificate,
  type AuthorityRequest,
  type DirectCertificateRequest,
} from './issue-certificate.ts';
export { createCsr, type CsrRequest } from './create-csr.ts';
export { createCrl, type CrlRequest, type RevokedEntry } from './create-crl.ts';
export { generalNameDer, nameDer, type NameAttributes } from './write-names.ts';
