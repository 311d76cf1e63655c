/**
 * X.509 for Direct: reads certificates, keys, CRLs and trust bundles, and proves the path from a certificate to an anchor.
 *
 * Standards: RFC 5280 (certificates, CRLs, path validation), RFC 7468 (PEM), RFC 5652 §5.1 (certificate sets), RFC 8017, RFC 5480,
 * Applicability Statement for Secure Health Transport chapters 1 and 4, Decision 0016.
 * Not supported: OCSP, delta and indirect CRLs, policy mapping, DSA and Ed25519 keys, OS or browser root stores.
 * No network, clock or storage of its own: fetching and time are arguments.
 * Used by lib/smime, lib/direct, service/trust, service/agent, app/dev and the command line.
 */
export { pkiErrors, PkiError, type PkiErrorCode } from './errors.ts';
export { readCertificate, type Certificate } from './certificate.ts';
export { readCertificates } from './certificate-set.ts';
export { formatPem, readPem, type PemBlock } from './pem.ts';
export { readPrivateKey } from './private-key.ts';
export { isBoundTo, type Binding } from './binding.ts';
export type { KeyUsage } from './extensions.ts';
export type { KeyType } from './public-key-info.ts';
