import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { GuardedFetch } from '../fetch/index.ts';
import type { Certificate } from './certificate.ts';
import { createSharedWork, downloadCertificates } from './download-certificates.ts';
import { PkiError } from './errors.ts';
import { shortName } from './name-certificate.ts';
import { issuersPerTurn } from './trust-policy.ts';
import type { ValidationBudget } from './validation-budget.ts';
import { isSignedBy } from './verify-signature.ts';

export interface IssuerFetcherOptions {
  readonly fetch: GuardedFetch;
  /** The clock for the age and validity of cached answers. */
  readonly now: () => Date;
  readonly timeoutMs?: number;
}

export type IssuerFetcher = (
  certificate: Certificate,
  budget?: ValidationBudget,
  /**
   * Called if none of the certificates that were had is the issuer, and a URL that failed may give it later.
   */
  onUnavailable?: (failure: PkiError) => void,
) => Promise<readonly Certificate[]>;

/** Largest number of URLs tried per certificate. */
const maxUrls = 3;
/** Time for which an answer is cached, and a failure. */
const keepMs = 3_600_000;
const failureKeepMs = 60_000;
const maxAnswers = 500;
/** Limit of the certificates in all cached answers: outsiders choose the URLs that are fetched. */
const maxAnswerBytes = 16 * 1024 * 1024;
const maxFailedHosts = 1_000;

interface CachedAnswer {
  readonly certificates: readonly Certificate[];
  readonly failure?: PkiError;
  readonly fetchedAtMs: number;
}

/**
 * Creates the AIA fetch of TRUST-05 (RFC 5280 §4.2.2.1): one DER certificate or a PKCS#7 set, over HTTP. The
 * fetched certificates are candidates, not trusted. Depth is bounded by the caller's search.
 *
 * The URLs are tried in their order until one gives a certificate whose key made the signature. Answers are
 * cached; a host that failed, and has given nothing for an hour, is not contacted for a minute for any URL.
 * Concurrent requests share one download.
 *
 * The returned function gives all that could be had; errors: `PKI_ISSUER_UNAVAILABLE` if nothing could and
 * later may be better, `PKI_ISSUER_NOT_FOUND` if the answers are useless, `PKI_FETCH_NEEDED` if nothing
 * cached helps and the budget allows no fetch, `PKI_FETCH_LIMIT` if the budget is exhausted.
 */
export function createIssuerFetcher(options: IssuerFetcherOptions): IssuerFetcher {
  const answers = new LRUCache<string, CachedAnswer>({
    max: maxAnswers,
    maxSize: maxAnswerBytes,
    sizeCalculation: sizeOf,
  });
  const failedHosts = new LRUCache<string, CachedAnswer>({ max: maxFailedHosts });
  const servingHosts = new LRUCache<string, Pick<CachedAnswer, 'fetchedAtMs'>>({ max: maxAnswers });
  const share = createSharedWork<CachedAnswer>();

  function findCached(url: string, subjectKey: string): CachedAnswer | undefined {
    const nowMs = options.now().getTime();
    return [answers.get(answerKey(url, subjectKey)), failedHosts.get(hostOf(url))].find(
      (answer) => answer !== undefined && isFresh(answer, nowMs),
    );
  }

  async function obtain(url: string, subjectKey: string): Promise<CachedAnswer> {
    const answer = await download(url, subjectKey, options);
    const host = hostOf(url);
    if (answer.failure === undefined) servingHosts.set(host, { fetchedAtMs: answer.fetchedAtMs });
    const served = servingHosts.get(host);
    // A host that serves other files is not at fault: else an outsider could close it to others by naming a
    // file that it cannot give.
    const isHostAtFault =
      answer.failure?.isTransient === true &&
      !(served !== undefined && isFresh(served, options.now().getTime()));
    if (isHostAtFault) failedHosts.set(host, answer);
    else answers.set(answerKey(url, subjectKey), answer);
    return answer;
  }

  function ask(url: string, subjectKey: string, budget: ValidationBudget | undefined): Promise<CachedAnswer> {
    const run = (): Promise<CachedAnswer> => share(answerKey(url, subjectKey), () => obtain(url, subjectKey));
    if (budget === undefined) return run();
    if (!budget.allowsIssuerFetches)
      throw new PkiError(
        'PKI_FETCH_NEEDED',
        `the issuer is not at hand and would have to be fetched from ${shortName(url)}`,
      );
    return budget.fetch('issuer', run);
  }

  return async (certificate, budget, onUnavailable) => {
    const found: Certificate[] = [];
    const failures: PkiError[] = [];
    const urls = certificate.caIssuerUrls.slice(0, maxUrls);
    // Cached answers first: they may make a fetch unnecessary.
    const cached = urls.map((url) => ({ url, answer: findCached(url, certificate.issuerKey) }));
    for (const { url, answer: known } of cached.toSorted((a, b) => rankOf(a.answer) - rankOf(b.answer))) {
      const answer = known ?? (await ask(url, certificate.issuerKey, budget));
      found.push(...answer.certificates);
      if (answer.failure !== undefined) failures.push(answer.failure);
      if (await hasIssuer(answer.certificates, certificate)) return found;
    }
    const failure = failures.find((one) => one.isTransient) ?? failures[0];
    if (found.length === 0 && failure !== undefined) throw failure;
    if (failure?.isTransient === true) onUnavailable?.(failure);
    return found;
  };
}

/** Cached certificates first, then URLs not fetched yet, then cached failures. */
function rankOf(answer: CachedAnswer | undefined): number {
  if (answer === undefined) return 1;
  return answer.failure === undefined ? 0 : 2;
}

/** Takes several turns of the event loop for a set of look-alikes. */
async function hasIssuer(found: readonly Certificate[], certificate: Certificate): Promise<boolean> {
  const named = found.filter((issuer) => issuer.subjectKey === certificate.issuerKey);
  for (const [index, issuer] of named.entries()) {
    if (index > 0 && index % issuersPerTurn === 0) await nextTurn();
    if (isSignedBy(certificate, issuer)) return true;
  }
  return false;
}

function sizeOf({ certificates }: CachedAnswer): number {
  return certificates.reduce((sum, { der }) => sum + der.length, 1);
}

/** Of a large set only some certificates are kept, those of the wanted issuer first. */
function answerKey(url: string, subjectKey: string): string {
  return `${url} ${subjectKey}`;
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}

function isFresh(answer: Pick<CachedAnswer, 'fetchedAtMs' | 'failure'>, nowMs: number): boolean {
  const ageMs = nowMs - answer.fetchedAtMs;
  return ageMs >= 0 && ageMs < (answer.failure ? failureKeepMs : keepMs);
}

async function download(
  url: string,
  subjectKey: string,
  options: IssuerFetcherOptions,
): Promise<CachedAnswer> {
  const { fetch, timeoutMs } = options;
  const fetchedAtMs = (): number => options.now().getTime();
  try {
    const certificates = await downloadCertificates(url, { fetch, timeoutMs, subjectKey });
    return { certificates, fetchedAtMs: fetchedAtMs() };
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    return { certificates: [], failure: error, fetchedAtMs: fetchedAtMs() };
  }
}
