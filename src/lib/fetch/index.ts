/**
 * HTTP requests to places that an outsider may have chosen: webhooks, AIA certificates, CRLs, trust bundles,
 * large files.
 *
 * Refuses targets that are not public (private, loopback, link-local, shared, multicast, IPv4 inside IPv6) at
 * the moment of connecting, credentials in URLs, other schemes than http and https, and, by default,
 * redirects; bounds time and bytes; never decompresses (HOOK-03, SEC-11). Skips interim responses; follows
 * Retry-After where asked to. Not here: retries, caching, cookies, a proxy. Called by `lib/pki` (as a
 * function passed in), `service/directory`, `service/trust`, `service/webhook`, the server and the tools.
 */
export { FetchError } from './errors.ts';
export { createGuardedDownload, type DownloadResponse, type GuardedDownload } from './guarded-download.ts';
export {
  createGuardedFetch,
  createKeepingFetch,
  type FetchResponse,
  type GuardedFetch,
} from './guarded-fetch.ts';
export { followRetryAfter, readRetryAfter, isPassingStatus } from './retry-after.ts';

export { isPublicAddress } from './public-address.ts';
export { findSystemAddresses, type TargetOptions } from './target-guard.ts';
