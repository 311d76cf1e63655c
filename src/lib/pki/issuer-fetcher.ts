import { LRUCache } from 'lru-cache';
import { CodedError, errorText } from '../../core/index.ts';
import type { GuardedFetch } from '../fetch/index.ts';
import type { Certificate } from './certificate.ts';
import { readCertificates } from './certificate-set.ts';
import { PkiError } from './errors.ts';

export interface IssuerFetcherOptions {
  readonly fetch: GuardedFetch;
  /** Tells when a cached answer was fetched and whether it is still good. */
  readonly now: () => Date;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** How long an answer is kept. Default one hour; a failure one minute. */
  readonly keepMs?: number;
}

export type IssuerFetcher = (certificate: Certificate) => Promise<readonly Certificate[]>;

/** URLs tried for one certificate, and certificates taken from one answer. */
const maxUrls = 3;
const maxCertificates = 32;
const failureKeepMs = 60_000;

interface CachedAnswer {
  readonly certificates: readonly Certificate[];
  readonly failure?: PkiError;
  readonly fetchedAtMs: number;
}

/**
 * Creates the AIA fetch of TRUST-05 (RFC 5280 §4.2.2.1): one DER certificate or a PKCS#7 set, over HTTP. What comes back is a set
 * of candidates, not of trusted certificates. Depth is bounded by the caller's search.
 *
 * The returned function gives all that could be had; errors: `PKI_ISSUER_UNAVAILABLE` if nothing could and later may be better,
 * `PKI_ISSUER_NOT_FOUND` if the answers are useless.
 */
export function createIssuerFetcher(options: IssuerFetcherOptions): IssuerFetcher {
  const answers = new LRUCache<string, CachedAnswer>({ max: 500 });
  const obtain = async (url: string): Promise<CachedAnswer> => {
    const cached = answers.get(url);
    const nowMs = options.now().getTime();
    if (cached !== undefined && isFresh(cached, nowMs, options)) return cached;
    const answer = await download(url, options, nowMs);
    answers.set(url, answer);
    return answer;
  };
  return async (certificate) => {
    const all = await Promise.all(certificate.caIssuerUrls.slice(0, maxUrls).map(obtain));
    const found = all.flatMap((answer) => answer.certificates);
    const failures = all.flatMap((answer) => answer.failure ?? []);
    const failure = failures.find((one) => one.isTransient) ?? failures[0];
    if (found.length === 0 && failure !== undefined) throw failure;
    return found;
  };
}

function isFresh(answer: CachedAnswer, nowMs: number, options: IssuerFetcherOptions): boolean {
  const ageMs = nowMs - answer.fetchedAtMs;
  return ageMs >= 0 && ageMs < (answer.failure ? failureKeepMs : (options.keepMs ?? 3_600_000));
}

async function download(
  url: string,
  options: IssuerFetcherOptions,
  fetchedAtMs: number,
): Promise<CachedAnswer> {
  try {
    const { status, body } = await options.fetch(url, {
      timeoutMs: options.timeoutMs ?? 5_000,
      maxBytes: options.maxBytes ?? 1024 * 1024,
    });
    if (status >= 500) throw new PkiError('PKI_ISSUER_UNAVAILABLE', `the AIA server answered ${status}`);
    if (status !== 200) throw new PkiError('PKI_ISSUER_NOT_FOUND', `the AIA server answered ${status}`);
    return { certificates: readCertificates(body).slice(0, maxCertificates), fetchedAtMs };
  } catch (error) {
    return { certificates: [], failure: translate(error), fetchedAtMs };
  }
}

function translate(error: unknown): PkiError {
  if (!(error instanceof CodedError)) throw error;
  if (error instanceof PkiError && error.code.startsWith('PKI_ISSUER_')) return error;
  const code = error.isTransient ? 'PKI_ISSUER_UNAVAILABLE' : 'PKI_ISSUER_NOT_FOUND';
  return new PkiError(code, `AIA: ${errorText(error)}`, { cause: error });
}
