import { codedError, type ErrorTable } from '../../core/index.ts';

/** Error codes of `lib/fetch`. */
export const fetchErrors = {
  /** Not an http or https URL, credentials in it, or a header or body that cannot be sent. */
  FETCH_REQUEST_INVALID: { kind: 'invalid-input' },
  /**
   * The target's address is private, loopback, link-local, shared, multicast or otherwise not public
   * (HOOK-03, SEC-11).
   */
  FETCH_TARGET_FORBIDDEN: { kind: 'forbidden' },
  /** The host name has no address at present. */
  FETCH_HOST_UNKNOWN: { kind: 'unavailable' },
  FETCH_TIMEOUT: { kind: 'unavailable' },
  /** The response exceeds the byte limit. */
  FETCH_TOO_LARGE: { kind: 'too-large' },
  /** More redirects than allowed, or one from https to http. */
  FETCH_REDIRECT_REFUSED: { kind: 'forbidden' },
  /** The response has a content coding that was not asked for and cannot be undone. */
  FETCH_CODING_UNSUPPORTED: { kind: 'unavailable' },
  /** Connecting, TLS or the exchange failed. */
  FETCH_FAILED: { kind: 'unavailable' },
} as const satisfies ErrorTable;

export class FetchError extends codedError(fetchErrors) {}
