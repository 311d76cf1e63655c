import { LRUCache } from 'lru-cache';
import { CodedError, errorText } from '../../core/index.ts';
import type { GuardedFetch } from '../fetch/index.ts';
import { maxCrlBytes, readCrlInTurns, type Crl } from './crl.ts';
import { PkiError } from './errors.ts';
import { derOf } from './pem.ts';
import type { Revocation, RevocationQuery } from './revocation.ts';
import { createSharedWork } from './shared-work.ts';
import { coversCertificate, verifyCrl } from './verify-crl.ts';

export interface RevocationCheckerOptions {
  readonly fetch: GuardedFetch;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Age after which a cached list is fetched again although it is still in date. Default one hour. */
  readonly refreshMs?: number;
  /** Time after its nextUpdate for which a list still counts if no newer one is available (TRUST-07). Default one day. */
  readonly graceMs?: number;
  /** Time for which a failed fetch is not repeated. Default one minute. */
  readonly retryMs?: number;
  /** Lists kept. Default 200. */
  readonly maxLists?: number;
}

export type RevocationChecker = (query: RevocationQuery) => Promise<Revocation>;

interface CachedList {
  readonly crl?: Crl;
  readonly failure?: PkiError;
  readonly fetchedAtMs: number;
}

/** Distribution points tried for one certificate. */
const maxPoints = 4;

/**
 * Creates the check of TRUST-06: the CRL from the certificate's distribution points over HTTP, verified, and cached until its
 * nextUpdate. A list that cannot be fetched or is not valid makes the answer `unknown`, never `good`; the caller's policy decides
 * about such an answer. Time comes with each query. Errors: `PKI_FETCH_LIMIT` if the query's budget is exhausted.
 */
export function createRevocationChecker(options: RevocationCheckerOptions): RevocationChecker {
  const lists = new LRUCache<string, CachedList>({ max: options.maxLists ?? 200 });
  const share = createSharedWork<CachedList>();
  const obtain = async (url: string, query: RevocationQuery): Promise<CachedList> => {
    // The issuer is part of the key: a list counts for the issuer it was verified against, and for no other.
    const key = `${query.issuer.fingerprint} ${url}`;
    const cached = lists.get(key);
    if (cached !== undefined && isFresh(cached, query.at, options)) return cached;
    const run = (): Promise<CachedList> =>
      share(key, async () => {
        const list = await refresh(url, query, { cached, options });
        lists.set(key, list);
        return list;
      });
    return query.budget === undefined ? run() : query.budget.fetch('revocation', run);
  };
  return (query) => checkAtPoints(query, { obtain, graceMs: options.graceMs ?? dayMs });
}

const dayMs = 24 * 3_600_000;

interface PointContext {
  obtain(url: string, query: RevocationQuery): Promise<CachedList>;
  readonly graceMs: number;
}

async function checkAtPoints(query: RevocationQuery, context: PointContext): Promise<Revocation> {
  const urls = query.certificate.crlUrls.slice(0, maxPoints);
  let answer: Revocation = {
    status: 'unknown',
    code: 'PKI_REVOCATION_UNCHECKABLE',
    reason: 'no CRL distribution point',
    isTransient: false,
  };
  for (const url of urls) {
    answer = await checkAtPoint(url, query, context);
    if (answer.status !== 'unknown') return answer;
  }
  return answer;
}

async function checkAtPoint(
  url: string,
  query: RevocationQuery,
  { obtain, graceMs }: PointContext,
): Promise<Revocation> {
  const { crl, failure } = await obtain(url, query);
  if (crl === undefined) return unknown(url, failure);
  try {
    // Again at each use, for a cached list grows old.
    verifyDates(crl, query, graceMs);
    if (!coversCertificate(crl, query.certificate))
      throw new PkiError('PKI_CRL_SCOPE', 'a CRL for other certificates');
  } catch (error) {
    if (error instanceof PkiError) return unknown(url, failure ?? error);
    throw error;
  }
  return answerOf(crl, query, url);
}

function verifyDates(crl: Crl, { at }: RevocationQuery, graceMs: number): void {
  if (crl.nextUpdate === undefined || !(at.getTime() <= crl.nextUpdate.getTime() + graceMs)) {
    throw new PkiError('PKI_CRL_STALE', 'a CRL past its next update');
  }
}

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
    reason: failure?.message ?? 'no CRL',
    // A list that is wrong today can be right tomorrow; only the absence of a distribution point is final.
    isTransient: true,
    crlUrl,
  };
}

function isFresh(cached: CachedList, at: Date, options: RevocationCheckerOptions): boolean {
  const ageMs = at.getTime() - cached.fetchedAtMs;
  if (ageMs < 0) return false;
  if (cached.failure !== undefined) return ageMs < (options.retryMs ?? 60_000);
  const isInDate = cached.crl?.nextUpdate !== undefined && at <= cached.crl.nextUpdate;
  return isInDate && ageMs < (options.refreshMs ?? 3_600_000);
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
  const fetchedAtMs = query.at.getTime();
  try {
    const crl = await readCrlInTurns(derOf(await download(url, options), 'X509 CRL'));
    const { issuer, candidates, at } = query;
    verifyCrl(crl, { issuer, candidates, at, graceMs: options.graceMs ?? dayMs });
    // A list older than the cached one is a replay or from a stale mirror.
    const isOlder = cached?.crl !== undefined && crl.thisUpdate < cached.crl.thisUpdate;
    return { crl: isOlder ? cached.crl : crl, fetchedAtMs };
  } catch (error) {
    const failure = error instanceof PkiError ? error : unavailable(error);
    return { ...(cached?.crl && { crl: cached.crl }), failure, fetchedAtMs };
  }
}

async function download(url: string, options: RevocationCheckerOptions): Promise<Uint8Array> {
  const { status, body } = await options.fetch(url, {
    timeoutMs: options.timeoutMs ?? 5_000,
    maxBytes: options.maxBytes ?? maxCrlBytes,
  });
  if (status !== 200) throw new PkiError('PKI_CRL_UNAVAILABLE', `the CRL server answered ${status}`);
  return body;
}

function unavailable(error: unknown): PkiError {
  if (!(error instanceof CodedError)) throw error;
  return new PkiError('PKI_CRL_UNAVAILABLE', errorText(error), { cause: error });
}
