import { equalBytes, errorText } from '../../core/index.ts';
import type { DirectAddress } from '../values/index.ts';
import type { Binding } from './binding.ts';
import type { Certificate } from './certificate.ts';
import { type CertificateUse, checkEndEntity, refusal } from './check-certificate.ts';
import { checkLink, type Path } from './check-link.ts';
import { findPolicyFault } from './check-policies.ts';
import { checkPathRevocation } from './check-revocation.ts';
import { PkiError, type PkiErrorCode } from './errors.ts';
import type { IssuerFetcher } from './issuer-fetcher.ts';
import { shortName } from './name-certificate.ts';
import type { PathWarning, Revocation, RevocationQuery } from './revocation.ts';
import {
  defaultTrustPolicy,
  maxIssuerFetches,
  maxIssuersTried,
  maxPathCertificates,
  type TrustPolicy,
} from './trust-policy.ts';
import { createValidationBudget, type ValidationBudget } from './validation-budget.ts';
import { isSignedBy } from './verify-signature.ts';

export interface TrustContext {
  readonly at: Date;
  /**
   * The anchors of one local domain or address and one direction (TRUST-03). Empty means that nothing is
   * trusted.
   */
  readonly anchors: readonly Certificate[];
  /** The Direct address that the certificate must be bound to; without it the binding is not checked. */
  readonly address?: DirectAddress;
  /**
   * Candidate issuers: certificates from the message and stored ones. Each is validated before it is used.
   */
  readonly candidates?: readonly Certificate[];
  /**
   * Issuers named by the certificate's AIA extension (TRUST-05). Throws `PKI_ISSUER_UNAVAILABLE` if later may
   * be better.
   */
  fetchIssuers?: IssuerFetcher;
  /** The revocation state of one link whose signature was verified. Never throws for an unavailable CRL. */
  checkRevocation?(query: RevocationQuery): Promise<Revocation>;
  readonly policy?: Partial<TrustPolicy>;
  /** Shared by all paths of one message. Default: a new one for this path. */
  readonly budget?: ValidationBudget;
}

/** A path validated link by link. Use only this afterwards, never the original certificate. */
export interface ValidatedPath {
  /** End entity first, anchor last; one element if the end entity is itself an anchor. */
  readonly certificates: readonly [Certificate, ...Certificate[]];
  readonly anchor: Certificate;
  readonly use: CertificateUse;
  readonly at: Date;
  readonly address?: DirectAddress;
  readonly binding?: Binding;
  /** One entry for each certificate except the anchor, in order. Empty if revocation checking is off. */
  readonly revocation: readonly Revocation[];
  readonly warnings: readonly PathWarning[];
}

/**
 * Validates that the certificate may be used for `use` at `context.at`, and by which path (RFC 5280 §6,
 * TRUST-01 to TRUST-11).
 *
 * Names and key identifiers only select the issuers to try; only its signature makes a link valid, and the
 * path ends at the first certificate that is byte for byte one of the anchors. The work is bounded for any
 * candidates.
 *
 * Errors: a `PkiError` with the code of the most specific reason, transient only if fetching could not be
 * finished.
 */
export async function validatePath(
  certificate: Certificate,
  use: CertificateUse,
  context: TrustContext,
): Promise<ValidatedPath> {
  if (context.anchors.length === 0)
    throw refusal('PKI_NO_ANCHORS', certificate, 'no trust anchor is configured');
  const policy = { ...defaultTrustPolicy, ...context.policy };
  const isAnchor = isAnchorOf(context, certificate);
  const { at, address } = context;
  const binding = checkEndEntity(certificate, use, { at, policy, isAnchor, ...(address && { address }) });
  const search: Search = {
    context,
    policy,
    budget: context.budget ?? createValidationBudget(),
    refusals: createRefusals(),
    fetched: [],
    fetchedFor: new Set(),
    issuersLeft: maxIssuersTried,
    warnings: [],
  };
  const found = await extendPath(search, [certificate]);
  if (found === undefined)
    throw search.refusals.worst ?? refusal('PKI_ISSUER_NOT_FOUND', certificate, 'no path to a trust anchor');
  return {
    certificates: found.path,
    anchor: found.path.at(-1) ?? certificate,
    use,
    at,
    ...(address && { address }),
    ...(binding && { binding }),
    revocation: found.revocation,
    warnings: [...search.warnings, ...found.warnings],
  };
}

interface Search {
  readonly context: TrustContext;
  readonly policy: TrustPolicy;
  readonly budget: ValidationBudget;
  readonly refusals: Refusals;
  readonly fetched: Certificate[];
  readonly fetchedFor: Set<string>;
  issuersLeft: number;
  readonly warnings: PathWarning[];
}

interface FoundPath {
  readonly path: Path;
  readonly revocation: readonly Revocation[];
  readonly warnings: readonly PathWarning[];
}

/**
 * Depth first from the end entity. Returns a path that passed every rule, or undefined with the refusals
 * noted.
 */
async function extendPath(search: Search, path: Path): Promise<FoundPath | undefined> {
  const last = lastOf(path);
  if (isAnchorOf(search.context, last)) return finishPath(search, path);
  if (path.length >= maxPathCertificates) {
    search.refusals.note(
      refusal('PKI_PATH_TOO_LONG', path[0], `more than ${maxPathCertificates} certificates`),
    );
    return undefined;
  }
  const known = issuersOf(search, last);
  const found = await tryIssuers(search, path, known);
  if (found !== undefined) return found;
  const fetched = await fetchMore(search, last);
  if (fetched) {
    const news = issuersOf(search, last).filter((issuer) => !known.includes(issuer));
    return tryIssuers(search, path, news);
  }
  return undefined;
}

async function tryIssuers(
  search: Search,
  path: Path,
  issuers: readonly Certificate[],
): Promise<FoundPath | undefined> {
  for (const issuer of issuers) {
    // Also compared by key, so that two certificates of one CA cannot form a loop.
    if (path.some((used) => isSameEntity(used, issuer))) continue;
    if (--search.issuersLeft < 0 || !(await search.budget.takeIssuer()))
      throw refusal(
        'PKI_PATH_TOO_BROAD',
        path[0],
        `more than ${maxIssuersTried} possible issuers of one certificate, or too many for one message`,
      );
    if (!isLink(search, path, issuer)) continue;
    const found = await extendPath(search, [...path, issuer]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isLink(search: Search, path: Path, issuer: Certificate): boolean {
  const { policy, context, budget } = search;
  const { at, address } = context;
  try {
    checkLink(path, issuer, {
      at,
      policy,
      isAnchor: isAnchorOf(context, issuer),
      takeComparisons: (count) => budget.takeComparisons(count),
      ...(address && { address }),
    });
    return true;
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    search.refusals.note(error);
    return false;
  }
}

/** All signatures are valid up to an anchor; revocation is checked last. */
async function finishPath(search: Search, path: Path): Promise<FoundPath | undefined> {
  try {
    // The anchor is input to the path and not part of it (RFC 5280 §6.1).
    const fault = findPolicyFault(path.slice(0, -1));
    if (fault !== undefined) throw refusal('PKI_POLICY_MISSING', fault.certificate, fault.text);
    const { context, policy, budget } = search;
    const pool = [...(context.candidates ?? []), ...search.fetched];
    const { at, checkRevocation } = context;
    const isCertified = (signer: Certificate): Promise<boolean> => leadsTo(search, signer, lastOf(path));
    const rules = { at, policy, pool, budget, checkRevocation, isCertified };
    return { path, ...(await checkPathRevocation(path, rules)) };
  } catch (error) {
    // Another chain can avoid a revoked intermediate; a revoked end entity is revoked on every chain.
    if (!(error instanceof PkiError) || isRevokedEndEntity(error, path)) throw error;
    search.refusals.note(error);
    return undefined;
  }
}

/**
 * True if a path leads from the certificate to that anchor, by certificates that are at hand. Revocation is
 * not asked again.
 */
async function leadsTo(search: Search, certificate: Certificate, anchor: Certificate): Promise<boolean> {
  const { at, candidates = [] } = search.context;
  const context = { at, anchors: [anchor], candidates: [...candidates, ...search.fetched] };
  const policy: TrustPolicy = { ...search.policy, revocation: 'off' };
  const found = await extendPath(
    { ...search, context, policy, refusals: createRefusals(), fetchedFor: new Set(), warnings: [] },
    [certificate],
  );
  return found !== undefined;
}

function isRevokedEndEntity(error: PkiError, path: Path): boolean {
  return error.code === 'PKI_REVOKED' && error.fields['certificate'] === path[0].fingerprint;
}

/** Possible issuers by name, anchors first; a matching key identifier only moves one forward. */
function issuersOf(search: Search, certificate: Certificate): Certificate[] {
  const { anchors, candidates = [] } = search.context;
  const isNamed = (issuer: Certificate): boolean => issuer.subjectKey === certificate.issuerKey;
  const byFingerprint = new Map(
    [...anchors, ...candidates, ...search.fetched].filter(isNamed).map((one) => [one.fingerprint, one]),
  );
  const score = (issuer: Certificate): number =>
    (isAnchorOf(search.context, issuer) ? 2 : 0) + (hasIssuerKeyId(certificate, issuer) ? 1 : 0);
  return [...byFingerprint.values()].toSorted((a, b) => score(b) - score(a));
}

function hasIssuerKeyId(certificate: Certificate, issuer: Certificate): boolean {
  const { authorityKeyIdentifier: wanted } = certificate;
  const { subjectKeyIdentifier: own } = issuer;
  return wanted !== undefined && own !== undefined && equalBytes(wanted, own);
}

async function fetchMore(search: Search, certificate: Certificate): Promise<boolean> {
  const { context, fetchedFor } = search;
  const canFetch =
    context.fetchIssuers !== undefined && certificate.caIssuerUrls.length > 0 && !isSelfSigned(certificate);
  if (!canFetch || fetchedFor.has(certificate.fingerprint) || fetchedFor.size >= maxIssuerFetches) {
    search.refusals.note(
      refusal('PKI_ISSUER_NOT_FOUND', certificate, `no trusted issuer ${shortName(certificate.issuer)}`),
    );
    return false;
  }
  fetchedFor.add(certificate.fingerprint);
  const noteFailure = (error: PkiError): void => {
    search.warnings.push({ code: error.code, text: errorText(error) });
    search.refusals.note(
      refusal(error.isTransient ? error.code : 'PKI_ISSUER_NOT_FOUND', certificate, errorText(error)),
    );
  };
  try {
    search.fetched.push(...((await context.fetchIssuers?.(certificate, search.budget, noteFailure)) ?? []));
    search.refusals.note(
      refusal('PKI_ISSUER_NOT_FOUND', certificate, `no trusted issuer ${shortName(certificate.issuer)}`),
    );
    return true;
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    noteFailure(error);
    return false;
  }
}

/** A self-issued certificate has no other issuer, whatever its AIA extension says. */
function isSelfSigned(certificate: Certificate): boolean {
  return certificate.isSelfIssued && isSignedBy(certificate, certificate);
}

function isAnchorOf(context: TrustContext, certificate: Certificate): boolean {
  // Comparing fingerprints first avoids comparing the bytes of hundreds of other anchors.
  return context.anchors.some(
    ({ fingerprint, der }) => fingerprint === certificate.fingerprint && equalBytes(der, certificate.der),
  );
}

function isSameEntity(a: Certificate, b: Certificate): boolean {
  return a.subjectKey === b.subjectKey && equalBytes(a.publicKeyDer, b.publicKeyDer);
}

function lastOf(path: Path): Certificate {
  return path.at(-1) ?? path[0];
}

/** Collects why paths failed, to report the reason that says most. */
interface Refusals {
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

function createRefusals(): Refusals {
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
