import type { Dispatcher } from 'undici';
import { loadUndici } from './load-undici.ts';
import { listCodings } from './content-coding.ts';
import { FetchError } from './errors.ts';
import {
  dispatcherOptions,
  flattenHeaders,
  redirectRefused,
  redirectStatuses,
  translate,
} from './guarded-fetch.ts';
import { createTargetGuard, hostOf, type TargetOptions } from './target-guard.ts';

export interface GuardedDownloadOptions extends TargetOptions {
  /** For each of lookup, connection and the head of the answer. */
  readonly timeoutMs: number;
  /** Longest time without a byte of the body. */
  readonly idleMs: number;
  readonly maxRedirects: number;
  /** Host names that a redirect may lead to, in addition to that of the URL, in lower case. */
  readonly redirectHosts: readonly string[];
  /** Allows plain HTTP. Default false: an attacker on the network could change the file. */
  readonly allowsPlainHttp?: boolean;
  /** PEM of certificate authorities to trust instead of the system's. */
  readonly tlsCa?: string;
}

export interface DownloadInit {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface DownloadResponse {
  readonly status: number;
  /** Names in lower case; repeated fields joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The bytes as they come, never decompressed. Rejects with a FetchError. Leaving the loop closes the
   * connection.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** Closes the connection; for a body that is not read. */
  cancel(): void;
}

/**
 * Starts to download a file too large for memory. Resolves for every status when the head of the answer is
 * there; the size of the body is the caller's to bound. Rejects with a {@link FetchError} like
 * `GuardedFetch`.
 */
export type GuardedDownload = (url: string, init?: DownloadInit) => Promise<DownloadResponse>;

/**
 * Creates a download that only reaches public addresses, and by redirects only named hosts. Keeps no
 * connections.
 */
export function createGuardedDownload(options: GuardedDownloadOptions): GuardedDownload {
  const guard = createTargetGuard(options);
  const { Agent, request } = loadUndici();
  const dispatcher = new Agent({
    ...dispatcherOptions(guard, options),
    pipelining: 0,
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.idleMs,
  });
  const parse = (text: string): URL => {
    const url = guard.parse(text);
    if (url.protocol === 'https:' || options.allowsPlainHttp === true) return url;
    throw new FetchError('FETCH_REQUEST_INVALID', 'The URL is not https');
  };

  async function follow(first: URL, init: DownloadInit): Promise<Dispatcher.ResponseData> {
    const hosts = new Set([hostOf(first), ...options.redirectHosts]);
    let url = first;
    for (let redirects = 0; ; redirects++) {
      const response = await request(url, {
        dispatcher,
        ...(init.signal === undefined ? {} : { signal: init.signal }),
        // A body that is encoded on the way has other bytes than the file.
        headers: { 'user-agent': 'openhisp', 'accept-encoding': 'identity', ...init.headers },
      });
      const { location } = flattenHeaders(response.headers);
      if (!redirectStatuses.has(response.statusCode) || location === undefined) return response;
      abandon(response);
      if (redirects >= options.maxRedirects) throw redirectRefused('too many redirects');
      const next = guard.parse(URL.parse(location, url.href)?.href ?? location);
      if (url.protocol === 'https:' && next.protocol === 'http:')
        throw redirectRefused('a redirect away from https');
      if (!hosts.has(hostOf(next)))
        throw redirectRefused(`a redirect to ${hostOf(next)}, which is not an allowed host`);
      url = next;
    }
  }

  return async (text, init = {}) => {
    try {
      const response = await follow(parse(text), init);
      const { statusCode: status } = response;
      const headers = flattenHeaders(response.headers);
      if (listCodings(headers['content-encoding']).length > 0) {
        abandon(response);
        throw new FetchError('FETCH_CODING_UNSUPPORTED', 'The response has a content coding');
      }
      return {
        status,
        headers,
        body: readPieces(response, init.signal),
        cancel: () => abandon(response),
      };
    } catch (error) {
      throw translate(error, isAborted(init.signal));
    }
  };
}

async function* readPieces(
  { body }: Dispatcher.ResponseData,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of body) yield piece as Uint8Array;
  } catch (error) {
    throw translate(error, isAborted(signal));
  } finally {
    abandon({ body });
  }
}

const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

/** Nobody reads the rest; its error on being cut off is ours. */
function abandon({ body }: Pick<Dispatcher.ResponseData, 'body'>): void {
  body.on('error', () => {});
  body.destroy();
}
