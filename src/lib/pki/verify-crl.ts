import type { Certificate } from './certificate.ts';
import { readCrlScope, type Crl } from './crl.ts';
import { PkiError } from './errors.ts';
import { generalNameKeys } from './general-names.ts';
import { oids } from './oids.ts';
import { verifySignature } from './verify-signature.ts';

export interface CrlRules {
  /** The required issuer of the CRL: that of the certificate in question, already validated. */
  readonly issuer: Certificate;
  /** Certificates among which a CRL signer of the issuer's name may be. */
  readonly candidates: readonly Certificate[];
  readonly at: Date;
  /** Time after nextUpdate for which the list still counts (TRUST-07). */
  readonly graceMs: number;
}

const enforcedOids: ReadonlySet<string> = new Set([
  oids.crlNumber,
  oids.authorityKeyIdentifier,
  oids.issuingDistributionPoint,
]);

/** Clocks of peers differ; a list issued a moment in the future is a fresh list. */
const maxClockSkewMs = 5 * 60_000;

/** Signers tried for one list, so that a set of look-alikes buys no time. */
const maxSignersTried = 4;

/**
 * Returns only for a full CRL of that issuer, signed by it and in date (RFC 5280 §6.3.3).
 *
 * Errors: `PKI_CRL_ISSUER`, `PKI_CRL_SIGNATURE` (an outsider's, or with SHA-1), `PKI_CRL_NOT_YET_VALID`, `PKI_CRL_STALE`,
 * `PKI_CRL_DELTA`, `PKI_CRL_SCOPE`, `PKI_CRL_CRITICAL_EXTENSION`.
 */
export function verifyCrl(crl: Crl, rules: CrlRules): void {
  if (crl.issuerKey !== rules.issuer.subjectKey) throw refuse('PKI_CRL_ISSUER', 'a CRL of another issuer');
  checkExtensions(crl);
  if (!isSignedByAuthority(crl, rules))
    throw refuse('PKI_CRL_SIGNATURE', 'a CRL that its issuer did not sign');
  const now = rules.at.getTime();
  if (!(crl.thisUpdate.getTime() <= now + maxClockSkewMs))
    throw refuse('PKI_CRL_NOT_YET_VALID', 'a CRL from the future');
  const nextUpdate = crl.nextUpdate?.getTime() ?? Number.NEGATIVE_INFINITY;
  if (!(now <= nextUpdate + rules.graceMs)) throw refuse('PKI_CRL_STALE', 'a CRL past its next update');
}

/** True if the list says something about this certificate (RFC 5280 §6.3.3 (b)). */
export function coversCertificate(crl: Crl, certificate: Certificate): boolean {
  const scope = readCrlScope(crl);
  if (scope === undefined) return true;
  if (scope.isForUsersOnly && certificate.isCa) return false;
  if (scope.isForAuthoritiesOnly && !certificate.isCa) return false;
  if (scope.pointNodes.length === 0) return true;
  const points = new Set(certificate.crlPointKeys);
  return generalNameKeys(scope.pointNodes).some((key) => points.has(key));
}

function checkExtensions(crl: Crl): void {
  if (crl.extensions.some(({ oid }) => oid === oids.deltaCrlIndicator))
    throw refuse('PKI_CRL_DELTA', 'a delta CRL');
  const unknown = crl.extensions.find(({ oid, isCritical }) => isCritical && !enforcedOids.has(oid));
  if (unknown !== undefined)
    throw refuse('PKI_CRL_CRITICAL_EXTENSION', `unknown critical extension ${unknown.oid}`);
  if (crl.hasUnknownCriticalEntry)
    throw refuse('PKI_CRL_CRITICAL_EXTENSION', 'an entry with an unknown critical extension');
  if (readCrlScope(crl)?.isPartial === true) throw refuse('PKI_CRL_SCOPE', 'a partial or indirect CRL');
}

/** The issuer's key, or the key of a certificate in the issuer's name that the issuer itself has certified for CRLs. */
function isSignedByAuthority(crl: Crl, { issuer, candidates, at }: CrlRules): boolean {
  const delegates = candidates.filter(
    (one) => one.subjectKey === issuer.subjectKey && one.fingerprint !== issuer.fingerprint,
  );
  const isDelegate = (signer: Certificate): boolean =>
    signer.keyUsage?.has('cRLSign') === true &&
    at >= signer.notBefore &&
    at <= signer.notAfter &&
    signer.unknownCriticalOids.length === 0 &&
    isSigned(signer, issuer);
  if (mayIssuerSign(issuer) && isSigned(crl, issuer)) return true;
  return delegates.slice(0, maxSignersTried).some((signer) => isSigned(crl, signer) && isDelegate(signer));
}

/** RFC 5280 §6.3.3 (f): key usage, if there is one, must allow it. */
function mayIssuerSign(issuer: Certificate): boolean {
  return issuer.keyUsage === undefined || issuer.keyUsage.has('cRLSign');
}

function isSigned(object: Crl | Certificate, signer: Certificate): boolean {
  try {
    verifySignature(object, signer, { allowSha1: false });
    return true;
  } catch (error) {
    if (error instanceof PkiError) return false;
    throw error;
  }
}

function refuse(code: ConstructorParameters<typeof PkiError>[0], text: string): PkiError {
  return new PkiError(code, text);
}
