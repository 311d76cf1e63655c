import type { DirectAddress } from '../values/index.ts';
import type { Certificate } from './certificate.ts';
import { checkIssuer, refusal } from './check-certificate.ts';
import { PkiError } from './errors.ts';
import { shortName } from './name-certificate.ts';
import { countComparisons, findForbiddenAddress, findForbiddenName } from './name-constraints.ts';
import type { TrustPolicy } from './trust-policy.ts';
import { verifySignature } from './verify-signature.ts';

/** End entity first. */
export type Path = readonly [Certificate, ...Certificate[]];

export interface LinkRules {
  readonly at: Date;
  readonly policy: TrustPolicy;
  /** The issuer is a configured anchor. */
  readonly isAnchor: boolean;
  readonly address?: DirectAddress;
  /** Counts comparisons of names with name constraints. Returns false if there were too many. */
  takeComparisons(count: number): boolean;
}

/**
 * Returns only if the issuer vouches for the path as it stands: its key made the signature on the last
 * certificate, and it may issue (RFC 5280 §6.1.3, §6.1.4). Throws the `PKI_*` code of the first rule broken.
 */
export function checkLink(path: Path, issuer: Certificate, rules: LinkRules): void {
  checkSignature(path.at(-1) ?? path[0], issuer, rules);
  checkIssuer(issuer, rules);
  checkPathLength(path, issuer);
  checkNameConstraints(path, issuer, rules);
}

/** The finding of `verifySignature`, with the name of the certificate. */
function checkSignature(certificate: Certificate, issuer: Certificate, { policy }: LinkRules): void {
  try {
    verifySignature(certificate, issuer, { allowSha1: policy.allowSha1Certificates });
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    throw refusal(error.code, certificate, `${error.message} (issuer ${shortName(issuer.subject)})`);
  }
}

/**
 * RFC 5280 §4.2.1.9: how many CA certificates may stand between the issuer and the end entity, self-issued
 * ones not counted.
 */
function checkPathLength(path: Path, issuer: Certificate): void {
  if (issuer.pathLength === undefined) return;
  const between = path.slice(1).filter((certificate) => !certificate.isSelfIssued).length;
  if (between > issuer.pathLength)
    throw refusal('PKI_PATH_LENGTH', issuer, `a path length over ${issuer.pathLength}`);
}

/** RFC 5280 §6.1.3 (b), (c): all names below the issuer, but for self-issued CA certificates in between. */
function checkNameConstraints(
  path: Path,
  issuer: Certificate,
  { address, takeComparisons }: Pick<LinkRules, 'address' | 'takeComparisons'>,
): void {
  const constraints = issuer.nameConstraints;
  if (constraints === undefined) return;
  if (constraints.hasDistance)
    throw refusal('PKI_NAME_CONSTRAINT', issuer, 'name constraints with a minimum or maximum');
  const below = path.filter((certificate, index) => index === 0 || !certificate.isSelfIssued);
  for (const { subjectNames, alternativeNames } of below) {
    const named = { subject: subjectNames, names: alternativeNames };
    if (!takeComparisons(countComparisons(constraints, named)))
      throw refusal('PKI_PATH_TOO_BROAD', issuer, 'too many names under too many name constraints');
    const name = findForbiddenName(constraints, named);
    if (name !== undefined) throw refusal('PKI_NAME_CONSTRAINT', issuer, `may not vouch for ${name}`);
  }
  if (address !== undefined && findForbiddenAddress(constraints, address) !== undefined) {
    throw refusal('PKI_NAME_CONSTRAINT', issuer, `may not vouch for the address ${address}`);
  }
}
