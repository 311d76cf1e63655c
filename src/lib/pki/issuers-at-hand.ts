import type { Certificate } from './certificate.ts';
import { maxPathCertificates } from './trust-policy.ts';
import { isSignedBy } from './verify-signature.ts';

/** Signatures checked for one certificate: outsiders choose the pool. */
const maxTried = 16;

/**
 * The certificates above one, lowest first, as far as the pool goes and each key made the signature below it.
 * It ends with one of `tops`. Only for showing how far a refused path went: nothing else of them is checked.
 */
export function listIssuersAtHand(
  certificate: Certificate,
  pool: readonly Certificate[],
  tops: readonly Certificate[],
): readonly Certificate[] {
  const path = [certificate];
  let left = maxTried;
  while (path.length < maxPathCertificates) {
    const below = path.at(-1) ?? certificate;
    if (tops.some(({ fingerprint }) => fingerprint === below.fingerprint)) break;
    const issuer = [...tops, ...pool].find(
      (one) =>
        one.subjectKey === below.issuerKey &&
        !path.some(({ fingerprint }) => fingerprint === one.fingerprint) &&
        --left >= 0 &&
        isSignedBy(below, one),
    );
    if (issuer === undefined) break;
    path.push(issuer);
  }
  return path.slice(1);
}
