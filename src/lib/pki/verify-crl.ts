import type { Certificate } from './certificate.ts';
import { readCrlScope, type Crl } from './crl.ts';
import { PkiError } from './errors.ts';
import { generalNameKeys } from './general-names.ts';
import { nameCertificate, shortName } from './name-certificate.ts';
import { oids } from './oids.ts';
import { verifySignature } from './verify-signature.ts';

export interface CrlRules {
  /** The required issuer of the CRL: that of the certificate in question, already validated. */
  readonly issuer: Certificate;
  /** Certificates among which a CRL signer of the issuer's name may be. */
  readonly candidates: readonly Certificate[];
  /**
   * True if a path leads from the signer to the anchor of the certificate in question. Default: only what
   * `issuer` signed counts.
   */
  isCertified?(signer: Certificate): Promise<boolean>;
}

const enforcedOids: ReadonlySet<string> = new Set([
  oids.crlNumber,
  oids.authorityKeyIdentifier,
  oids.issuingDistributionPoint,
  oids.deltaCrlIndicator,
]);

/** Clocks of peers differ; a list issued a moment in the future is a fresh list. */
const maxClockSkewMs = 5 * 60_000;

/** Signers tried for one list, so that a set of look-alikes buys no time. */
const maxSignersTried = 4;

/**
 * Returns the certificate under whose key that issuer signed the list (RFC 5280 §6.3.3 (f), (g)): the
 * issuer's, or another of its name that it has certified, or that has a path to the same anchor, as after a
 * change of keys. The list can be out of date or partial: see {@link findCrlWeakness}.
 *
 * Errors: `PKI_CRL_ISSUER`, `PKI_CRL_SIGNATURE` (an outsider's, or with SHA-1), `PKI_CRL_SCOPE`,
 * `PKI_CRL_CRITICAL_EXTENSION`.
 */
export async function verifyCrl(crl: Crl, rules: CrlRules): Promise<Certificate> {
  const { issuer } = rules;
  if (crl.issuerKey !== issuer.subjectKey)
    throw refuse('PKI_CRL_ISSUER', `a CRL of another issuer than ${shortName(issuer.subject)}`);
  checkScope(crl);
  if (mayIssuerSign(issuer) && isSigned(crl, issuer)) return issuer;
  const signer = await findCrlSigner(crl, rules);
  if (signer === undefined)
    throw refuse('PKI_CRL_SIGNATURE', `a CRL that its issuer ${nameCertificate(issuer)} did not sign`);
  return signer;
}

/** The one of the candidates that signed the list and may. */
export async function findCrlSigner(
  crl: Crl,
  { issuer, candidates, isCertified }: CrlRules,
): Promise<Certificate | undefined> {
  const named = candidates.filter(
    (one) => one.subjectKey === issuer.subjectKey && one.fingerprint !== issuer.fingerprint,
  );
  for (const signer of named.slice(0, maxSignersTried)) {
    const isForCrls = signer.keyUsage?.has('cRLSign') === true && signer.unknownCriticalOids.length === 0;
    if (!isForCrls || !isSigned(crl, signer)) continue;
    if (isSigned(signer, issuer) || (await isCertified?.(signer)) === true) return signer;
  }
  return undefined;
}

/**
 * Why a verified list proves only what it says, and nothing by leaving a certificate out: it is out of date,
 * its signer's certificate is, it has only changes or some reasons, or a critical extension that is unknown.
 * Undefined for a full list that is in date. `graceMs`: time after nextUpdate (TRUST-07).
 */
export function findCrlWeakness(
  crl: Crl,
  signer: Certificate,
  { at, graceMs }: { readonly at: Date; readonly graceMs: number },
): PkiError | undefined {
  const now = at.getTime();
  if (!(crl.thisUpdate.getTime() <= now + maxClockSkewMs))
    return refuse('PKI_CRL_NOT_YET_VALID', `a CRL of ${dateOf(crl.thisUpdate)}, in the future`);
  const nextUpdate = crl.nextUpdate?.getTime() ?? Number.NEGATIVE_INFINITY;
  if (!(now <= nextUpdate + graceMs)) {
    const end =
      crl.nextUpdate === undefined ? 'without a next update' : `that ended ${dateOf(crl.nextUpdate)}`;
    return refuse('PKI_CRL_STALE', `a CRL ${end}`);
  }
  if (!(at >= signer.notBefore && at <= signer.notAfter))
    return refuse(
      'PKI_CRL_SIGNATURE',
      `a CRL signed under ${nameCertificate(signer)}, valid from ${dateOf(signer.notBefore)} until ${dateOf(signer.notAfter)}`,
    );
  if (crl.extensions.some(({ oid }) => oid === oids.deltaCrlIndicator))
    return refuse('PKI_CRL_DELTA', `a delta CRL of ${dateOf(crl.thisUpdate)}`);
  if (readCrlScope(crl)?.isPartial === true)
    return refuse('PKI_CRL_SCOPE', `a partial CRL of ${dateOf(crl.thisUpdate)}`);
  return findUnknownCritical(crl);
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

/** Its entries can be of other certificates with the same serial numbers. */
function checkScope(crl: Crl): void {
  if (crl.hasOtherIssuer) throw refuse('PKI_CRL_CRITICAL_EXTENSION', 'an entry of another issuer');
  if (readCrlScope(crl)?.isForOthers === true)
    throw refuse('PKI_CRL_SCOPE', 'an indirect CRL, or one of attribute certificates');
}

/** RFC 5280 §5.2, §5.3: a list with meanings that are not known says nothing of what it does not list. */
function findUnknownCritical(crl: Crl): PkiError | undefined {
  const unknown = crl.extensions.find(({ oid, isCritical }) => isCritical && !enforcedOids.has(oid));
  if (unknown !== undefined)
    return refuse('PKI_CRL_CRITICAL_EXTENSION', `a CRL with the unknown critical extension ${unknown.oid}`);
  if (!crl.hasUnknownCriticalEntry) return undefined;
  return refuse('PKI_CRL_CRITICAL_EXTENSION', 'a CRL with an unknown critical extension in an entry');
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

function dateOf(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'an unreadable date' : date.toISOString();
}

function refuse(code: ConstructorParameters<typeof PkiError>[0], text: string): PkiError {
  return new PkiError(code, text);
}
