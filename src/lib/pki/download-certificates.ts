import { CodedError, errorText } from '../../core/index.ts';
import { type GuardedFetch, isPassingStatus } from '../fetch/index.ts';
import { readCertificates } from './certificate-set.ts';
import type { Certificate } from './certificate.ts';
import { PkiError } from './errors.ts';
import { shortName } from './name-certificate.ts';

export interface CertificateDownload {
  readonly fetch: GuardedFetch;
  readonly timeoutMs?: number | undefined;
  /** Of the name that is sought: its certificates come first in a set that is cut. */
  readonly subjectKey: string;
}

const maxBytes = 4 * 1024 * 1024;
/** Taken of one answer. */
const maxCertificates = 32;

/**
 * Downloads the certificates at an address of an AIA extension: one in DER or a PKCS#7 set (RFC 5280
 * §4.2.2.1, §5.2.7). An unreadable one does not keep the others of its set from being tried. Errors:
 * `PKI_ISSUER_UNAVAILABLE` if later may be better, `PKI_ISSUER_NOT_FOUND`.
 */
export async function downloadCertificates(
  url: string,
  { fetch, timeoutMs = 5_000, subjectKey }: CertificateDownload,
): Promise<readonly Certificate[]> {
  try {
    const { status, body } = await fetch(url, { timeoutMs, maxBytes });
    if (isPassingStatus(status))
      throw new PkiError('PKI_ISSUER_UNAVAILABLE', `${shortName(url)} answered ${status}`);
    if (status !== 200) throw new PkiError('PKI_ISSUER_NOT_FOUND', `${shortName(url)} answered ${status}`);
    return readCertificates(body, { first: maxCertificates, subjectKey, onUnreadable: () => {} });
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    if (error instanceof PkiError && error.code.startsWith('PKI_ISSUER_')) throw error;
    const code = error.isTransient ? 'PKI_ISSUER_UNAVAILABLE' : 'PKI_ISSUER_NOT_FOUND';
    throw new PkiError(code, `${shortName(url)}: ${errorText(error)}`, { cause: error });
  }
}

/** Begins work under a key, or joins the work in progress under it. */
type SharedWork<T> = (key: string, begin: () => Promise<T>) => Promise<T>;

/** One download for all that wait for the same address. */
export function createSharedWork<T>(): SharedWork<T> {
  const running = new Map<string, Promise<T>>();
  return (key, begin) => {
    const known = running.get(key);
    if (known !== undefined) return known;
    const work = begin().finally(() => running.delete(key));
    running.set(key, work);
    return work;
  };
}
