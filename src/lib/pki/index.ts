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
export { formatPem, readPem } from './pem.ts';
export { readPrivateKey, createKeyPair, type KeyPair } from './key-pair.ts';
export { isBoundTo } from './binding.ts';
export { checkEndEntity, findValidityFault, type CertificateUse } from './check-certificate.ts';
export { listIssuersAtHand } from './issuers-at-hand.ts';
export { validatePath, type ValidatedPath, type TrustContext } from './validate-path.ts';
export { createValidationBudget, type ValidationBudget } from './validation-budget.ts';
export { defaultTrustPolicy, directTrustPolicy, type TrustPolicy } from './trust-policy.ts';
export { createRevocationChecker, type RevocationChecker } from './revocation-checker.ts';
export { createIssuerFetcher, type IssuerFetcher } from './issuer-fetcher.ts';
export { readCrl } from './crl.ts';
export { verifyCrl } from './verify-crl.ts';
export { readTrustBundle, type TrustBundle, writeTrustBundle } from './trust-bundle.ts';

export { createCertificate, type CertificateRequest, type Issuer } from './create-certificate.ts';
export { createAuthority, issueDirectCertificate, issueServerCertificate } from './issue-certificate.ts';
export { createCsr } from './create-csr.ts';
export { createCrl, type CrlRequest } from './create-crl.ts';
export { generalNameDer } from './write-names.ts';
