import { LRUCache } from 'lru-cache';
import { CodedError, errorText } from '../../core/index.ts';
import type { GuardedFetch } from '../fetch/index.ts';
import type { Certificate } from './certificate.ts';
import { type Crl, maxCrlBytes, readCrlInTurns } from './crl.ts';
import { createSharedWork, downloadCertificates } from './download-certificates.ts';
import { PkiError } from './errors.ts';
import { shortName } from './name-certificate.ts';
import type { Revocation, RevocationQuery } from './revocation.ts';
import { coversCertificate, findCrlSigner, findCrlWeakness, verifyCrl } from './verify-crl.ts';

export interface RevocationCheckerOptions {
  readonly fetch: GuardedFetch;
  readonly timeoutMs?: number;
  /** Age after which a cached list is fetched again although it is still in date. Default one hour. */
  readonly refreshMs?: number;
  /**
   * Time after its nextUpdate for which a list still counts if no newer one is available (TRUST-07). Default
   * one day.
   */
  readonly graceMs?: number;
}

/** Time for which a failed fetch is not repeated. */
const retryMs = 60_000;
/** Lists kept. */
const maxLists = 200;

export type RevocationChecker = (query: RevocationQuery) => Promise<Revocation>;

interface VerifiedList {
  readonly crl: Crl;
  readonly signer: Certificate;
}

interface CachedList {
  readonly list?: VerifiedList;
  /** Of the last fetch. */
  readonly failure?: PkiError;
  /** A newer list whose signer's certificate was not at hand: the next message may bring it. */
  readonly unsigned?: Crl;
  /** Where `unsigned` says that the certificate is, until it was fetched from there (RFC 5280 §5.2.7). */
  readonly signerUrl?: string | undefined;
  readonly fetchedAtMs: number;
}

/** Distribution points tried for one certificate. */
const maxPoints = 4;

/**
 * Creates the check of TRUST-06: the CRL from the certificate's distribution points over HTTP, verified, and
 * cached until its nextUpdate. A list that cannot be fetched or is not valid makes the answer `unknown`,
 * never `good`; the caller's policy decides about such an answer. A list that is out of date or partial can
 * revoke, and never acquits. Time comes with each query. Errors: `PKI_FETCH_LIMIT` if the query's budget is
 * exhausted.
 */
export function createRevocationChecker(options: RevocationCheckerOptions): RevocationChecker {
  const lists = new LRUCache<string, CachedList>({
    max: maxLists,
    maxSize: maxCachedBytes,
    sizeCalculation: sizeOf,
  });
  const share = createSharedWork<CachedList>();
  /** One download: shared by all that wait for it, and counted against the budget of each. */
  const fetchOnce = (name: string, query: RevocationQuery, begin: () => Promise<CachedList>) => {
    const run = (): Promise<CachedList> => share(name, begin);
    return query.budget === undefined ? run() : query.budget.fetch('revocation', run);
  };
  const obtain = async (url: string, query: RevocationQuery): Promise<CachedList> => {
    // The issuer is part of the key: a list counts for the issuer it was verified against, and for no other.
    const key = `${query.issuer.fingerprint} ${url}`;
    const keep = (list: CachedList): CachedList => {
      lists.set(key, list);
      return list;
    };
    const cached = lists.get(key);
    const found =
      cached !== undefined && isFresh(cached, query.at, options)
        ? cached
        : await fetchOnce(key, query, async () => keep(await refresh(url, query, { cached, options })));
    if (found.unsigned === undefined) return found;
    const signer = await findCrlSigner(found.unsigned, query);
    if (signer !== undefined) return keep(verifiedList(found, { crl: found.unsigned, signer }));
    if (found.signerUrl === undefined) return found;
    // A budget that ends here leaves the list as it is, with the signer still to be fetched by another.
    return fetchOnce(`signer ${key}`, query, async () => {
      const sought = await fetchSigner(found, query, options);
      const latest = lists.get(key);
      // Meanwhile a message may have brought the certificate.
      return latest === undefined || latest.unsigned === found.unsigned ? keep(sought) : latest;
    });
  };
  return (query) => checkAtPoints(query, { obtain, graceMs: options.graceMs ?? dayMs });
}

const dayMs = 24 * 3_600_000;

/** Of all lists in the cache: outsiders choose the URLs of CA certificates. */
const maxCachedBytes = 128 * 1024 * 1024;

function sizeOf({ list, unsigned }: CachedList): number {
  return 1 + (list?.crl.signedBytes.length ?? 0) + (unsigned?.signedBytes.length ?? 0);
}

interface PointContext {
  obtain(url: string, query: RevocationQuery): Promise<CachedList>;
  readonly graceMs: number;
}

async function checkAtPoints(query: RevocationQuery, context: PointContext): Promise<Revocation> {
  const { crlUrls, partialCrlUrls } = query.certificate;
  const full = crlUrls.slice(0, maxPoints).map((url) => ({ url, isFull: true }));
  const partial = partialCrlUrls.slice(0, maxPoints).map((url) => ({ url, isFull: false }));
  let answer: Revocation = {
    status: 'unknown',
    code: 'PKI_REVOCATION_UNCHECKABLE',
    reason: 'no CRL distribution point',
    isTransient: false,
  };
  for (const point of [...full, ...partial]) {
    answer = await checkAtPoint(point, query, context);
    if (answer.status !== 'unknown') return answer;
  }
  return answer;
}

interface Point {
  readonly url: string;
  /** False for a point of some reasons only. */
  readonly isFull: boolean;
}

async function checkAtPoint(
  { url, isFull }: Point,
  query: RevocationQuery,
  { obtain, graceMs }: PointContext,
): Promise<Revocation> {
  const { list, failure } = await obtain(url, query);
  if (list === undefined) return unknown(url, failure);
  const { crl, signer } = list;
  if (!coversCertificate(crl, query.certificate))
    return unknown(
      url,
      failure ??
        new PkiError('PKI_CRL_SCOPE', `a CRL of ${crl.thisUpdate.toISOString()} for other certificates`),
    );
  // At each use, for a cached list grows old.
  const weakness =
    findCrlWeakness(crl, signer, { at: query.at, graceMs }) ??
    (isFull ? undefined : new PkiError('PKI_CRL_SCOPE', 'a CRL of some reasons for revocation only'));
  const answer = answerOf(crl, query, url);
  // A revocation is for good, and a list that has become old still proves it; only a hold may have been
  // lifted since.
  const isProved = answer.status === 'revoked' && !liftedReasons.has(answer.reason);
  return weakness === undefined || isProved ? answer : unknown(url, failure ?? weakness);
}

const liftedReasons: ReadonlySet<string | undefined> = new Set(['certificateHold', 'removeFromCRL']);

function answerOf(crl: Crl, query: RevocationQuery, crlUrl: string): Revocation {
  const { thisUpdate, nextUpdate } = crl;
  const base = {
    crlUrl,
    thisUpdate,
    ...(nextUpdate && { nextUpdate }),
    isOverdue: nextUpdate !== undefined && query.at > nextUpdate,
  };
  const entry = crl.find(query.certificate.serialNumberDer);
  if (entry === undefined) return { status: 'good', ...base };
  return { status: 'revoked', reason: entry.reason ?? 'unspecified', revokedAt: entry.revokedAt, ...base };
}

function unknown(crlUrl: string, failure: PkiError | undefined): Revocation {
  return {
    status: 'unknown',
    code: failure?.code ?? 'PKI_CRL_UNAVAILABLE',
    reason: `CRL ${shortName(crlUrl)}: ${failure?.message ?? 'not available'}`,
    // A list that is wrong today can be right tomorrow; only the absence of a distribution point is final.
    isTransient: true,
    crlUrl,
  };
}

function isFresh(cached: CachedList, at: Date, options: RevocationCheckerOptions): boolean {
  const ageMs = at.getTime() - cached.fetchedAtMs;
  if (ageMs < 0) return false;
  if (cached.failure !== undefined) return ageMs < retryMs;
  const nextUpdate = cached.list?.crl.nextUpdate;
  const isInDate = nextUpdate !== undefined && at <= nextUpdate;
  return ageMs < (isInDate ? (options.refreshMs ?? 3_600_000) : retryMs);
}

interface RefreshContext {
  readonly cached: CachedList | undefined;
  readonly options: RevocationCheckerOptions;
}

/** A newer list, or the old one again with the reason why there is no newer. */
async function refresh(
  url: string,
  query: RevocationQuery,
  { cached, options }: RefreshContext,
): Promise<CachedList> {
  const known = { ...(cached?.list && { list: cached.list }), fetchedAtMs: query.at.getTime() };
  let crl: Crl | undefined;
  try {
    crl = await readCrlInTurns(await download(url, options));
    return verifiedList(known, { crl, signer: await verifyCrl(crl, query) });
  } catch (error) {
    const failure = failureOf(error);
    if (crl === undefined || failure.code !== 'PKI_CRL_SIGNATURE') return { ...known, failure };
    return { ...known, unsigned: crl, signerUrl: crl.caIssuerUrls[0], failure };
  }
}

/** A list older than the known one is a replay or from a stale mirror. */
function verifiedList({ list, fetchedAtMs }: CachedList, verified: VerifiedList): CachedList {
  const isOlder = list !== undefined && verified.crl.thisUpdate < list.crl.thisUpdate;
  return { list: isOlder ? list : verified, fetchedAtMs };
}

/** The signer's certificate from where the list says, or the reason why it is not to be had there. */
async function fetchSigner(
  { unsigned: crl, signerUrl, ...known }: CachedList,
  query: RevocationQuery,
  options: RevocationCheckerOptions,
): Promise<CachedList> {
  if (crl === undefined || signerUrl === undefined) return known;
  try {
    const candidates = await downloadSigners(signerUrl, crl, options);
    return verifiedList(known, { crl, signer: await verifyCrl(crl, { ...query, candidates }) });
  } catch (error) {
    return { ...known, unsigned: crl, failure: failureOf(error) };
  }
}

async function downloadSigners(
  url: string,
  crl: Crl,
  { fetch, timeoutMs }: RevocationCheckerOptions,
): Promise<readonly Certificate[]> {
  try {
    return await downloadCertificates(url, { fetch, timeoutMs, subjectKey: crl.issuerKey });
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    const text = `the certificate of the CRL's signer: ${error.message}`;
    throw new PkiError('PKI_CRL_UNAVAILABLE', text, { cause: error });
  }
}

async function download(url: string, options: RevocationCheckerOptions): Promise<Uint8Array> {
  const { status, body } = await options.fetch(url, {
    timeoutMs: options.timeoutMs ?? 5_000,
    maxBytes: maxCrlBytes,
  });
  if (status !== 200) throw new PkiError('PKI_CRL_UNAVAILABLE', `the server answered ${status}`);
  return body;
}

function failureOf(error: unknown): PkiError {
  if (error instanceof PkiError) return error;
  if (!(error instanceof CodedError)) throw error;
  return new PkiError('PKI_CRL_UNAVAILABLE', errorText(error), { cause: error });
}
