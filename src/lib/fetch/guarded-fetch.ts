import { isIP, type LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import type { Closable } from '../../core/index.ts';
import { undoCodings } from './content-coding.ts';
import { FetchError } from './errors.ts';
import { exchange, type Stop } from './exchange.ts';
import { loadUndici } from './load-undici.ts';
import { createSkippingConnector } from './skip-interim.ts';
import { createTargetGuard, type TargetGuard, type TargetOptions } from './target-guard.ts';

export interface GuardedFetchOptions extends TargetOptions {
  /** For the whole call: lookup, connection, request, redirects, response. */
  readonly timeoutMs: number;
  /** Largest response body, as it comes and without its content coding. */
  readonly maxBytes: number;
  /**
   * Only the status and the beginning of the body matter: a response that is too large, or that does not end
   * in time, resolves with what has come of its body. Default: it rejects.
   */
  readonly takesPart?: boolean;
  /**
   * Redirects followed for GET, each checked like the first URL. Default 0: the redirect is returned as it
   * is.
   */
  readonly maxRedirects?: number;
  /** PEM of certificate authorities to trust instead of the system's. */
  readonly tlsCa?: string;
}

export interface KeptConnections {
  /**
   * Number of open connections to all targets from which each further request closes its connection
   * afterwards.
   */
  readonly maxConnections: number;
  /** An unused connection is closed after this time. */
  readonly idleMs: number;
  /** No request begins on a connection older than this, so that a name that moves is followed. */
  readonly maxAgeMs: number;
}

export interface FetchInit {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** Instead of the general limits, for this call. */
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export interface FetchResponse {
  readonly status: number;
  /** Names in lower case; repeated fields joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * Fetches a URL that an outsider may have chosen. Resolves for every status. Rejects with a
 * {@link FetchError}: `FETCH_REQUEST_INVALID`, `FETCH_TARGET_FORBIDDEN`, `FETCH_HOST_UNKNOWN`,
 * `FETCH_TIMEOUT`, `FETCH_TOO_LARGE`, `FETCH_REDIRECT_REFUSED`, `FETCH_CODING_UNSUPPORTED`, `FETCH_FAILED`.
 */
export type GuardedFetch = (url: string, init?: FetchInit) => Promise<FetchResponse>;

export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Creates a fetch that only reaches public addresses (HOOK-03, SEC-11). Connections are not kept, so nothing
 * needs closing.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const guard = createTargetGuard(options);
  const dispatcher = new (loadUndici().Agent)({ ...dispatcherOptions(guard, options), pipelining: 0 });
  return createFetch(guard, options, (url, init, stop) =>
    fetchOnce(url, init, { dispatcher, options, stop }),
  );
}

/**
 * The same with connections that are kept for further requests to the same target. The guard checks each
 * connection when it is made; a kept one leads to the address that was checked. A server may close a kept
 * connection just as a request is sent: a GET is then sent once more, on a new connection. A POST never is:
 * it may have arrived (RFC 9110 §9.2.2), and only its caller knows what a second one does.
 */
export function createKeepingFetch(
  options: GuardedFetchOptions,
  kept: KeptConnections,
): { readonly fetch: GuardedFetch } & Closable {
  const guard = createTargetGuard(options);
  const shared = dispatcherOptions(guard, options);
  const undici = loadUndici();
  const closing = new undici.Agent({ ...shared, pipelining: 0 });
  const keeping = new undici.Agent({
    ...shared,
    pipelining: 1,
    // A limit from the server may shorten the time, never lengthen it.
    keepAliveTimeout: kept.idleMs,
    keepAliveMaxTimeout: kept.idleMs,
    clientTtl: kept.maxAgeMs,
  });
  let open = 0;
  keeping.on('connect', () => void open++);
  keeping.on('disconnect', () => void open--);
  const fetch = createFetch(guard, options, async (url, init, stop) => {
    if (open >= kept.maxConnections) return fetchOnce(url, init, { dispatcher: closing, options, stop });
    try {
      return await fetchOnce(url, init, { dispatcher: keeping, options, stop });
    } catch (error) {
      if (init.method === 'POST' || !isConnectionLost(error) || stop.isStopped) throw error;
      return fetchOnce(url, init, { dispatcher: closing, options, stop });
    }
  });
  return {
    fetch,
    async close() {
      await Promise.all([keeping.destroy(), closing.destroy()]);
    },
  };
}

type FetchOnce = (url: URL, init: FetchInit, stop: Stop) => Promise<FetchResponse>;

function createFetch(guard: TargetGuard, options: GuardedFetchOptions, once: FetchOnce): GuardedFetch {
  return async (url, init = {}) => {
    const stop: Stop = { isStopped: false, end: undefined };
    let isTimeOver = false;
    const end = (): void => {
      stop.isStopped = true;
      stop.end?.();
    };
    const timer = setTimeout(() => {
      isTimeOver = true;
      end();
    }, init.timeoutMs ?? options.timeoutMs);
    init.signal?.addEventListener('abort', end, { once: true });
    if (init.signal?.aborted === true) end();
    try {
      const maxRedirects = init.method === 'POST' ? 0 : (options.maxRedirects ?? 0);
      return await fetchThroughRedirects(guard, guard.parse(url), maxRedirects, (target) =>
        once(target, init, stop),
      );
    } catch (error) {
      throw translate(error, isTimeOver);
    } finally {
      clearTimeout(timer);
      init.signal?.removeEventListener('abort', end);
    }
  };
}

/** The connection was closed before an answer came, as happens to kept ones that the server has abandoned. */
function isConnectionLost(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
}

/**
 * Every new connection asks the guard for the addresses and gets no others: the addresses that were checked
 * are the ones connected to, so a name that changes between check and use (DNS rebinding) gains nothing.
 */
export function dispatcherOptions(
  guard: TargetGuard,
  options: Pick<GuardedFetchOptions, 'timeoutMs' | 'tlsCa'>,
): Agent.Options {
  const lookup: LookupFunction = (host, _options, callback) => {
    void lookUp(guard, host, callback);
  };
  const tls = options.tlsCa === undefined ? {} : { ca: options.tlsCa };
  return {
    connect: createSkippingConnector({ lookup, autoSelectFamily: true, timeout: options.timeoutMs, ...tls }),
    maxHeaderSize: 16_384,
  };
}

async function lookUp(
  guard: TargetGuard,
  host: string,
  callback: Parameters<LookupFunction>[2],
): Promise<void> {
  try {
    const addresses = await guard.findTargets(host);
    callback(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    );
  } catch (error) {
    callback(error instanceof Error ? error : new Error(String(error)), []);
  }
}

async function fetchThroughRedirects(
  guard: TargetGuard,
  first: URL,
  maxRedirects: number,
  once: (url: URL) => Promise<FetchResponse>,
): Promise<FetchResponse> {
  let url = first;
  for (let redirects = 0; ; redirects++) {
    const response = await once(url);
    const location = response.headers['location'];
    if (maxRedirects === 0 || !redirectStatuses.has(response.status) || location === undefined)
      return response;
    if (redirects >= maxRedirects) throw redirectRefused('too many redirects');
    const next = guard.parse(URL.parse(location, url.href)?.href ?? location);
    if (url.protocol === 'https:' && next.protocol === 'http:')
      throw redirectRefused('a redirect away from https');
    url = next;
  }
}

interface Call {
  /** Without pipelining it closes each connection after its response. */
  readonly dispatcher: Dispatcher;
  readonly options: GuardedFetchOptions;
  readonly stop: Stop;
}

async function fetchOnce(
  url: URL,
  init: FetchInit,
  { dispatcher, options, stop }: Call,
): Promise<FetchResponse> {
  const maxBytes = init.maxBytes ?? options.maxBytes;
  const takesPart = options.takesPart ?? false;
  const response = await exchange(
    dispatcher,
    {
      url,
      method: init.method ?? 'GET',
      headers: { 'user-agent': 'openhisp', 'accept-encoding': 'identity', ...init.headers },
      body: init.body,
      maxBytes,
      takesPart,
    },
    stop,
  );
  const headers = flattenHeaders(response.headers);
  const coding = headers['content-encoding'];
  // Of a part nothing is used but its beginning, for people to read.
  const body = takesPart ? response.body : await undoCodings(response.body, coding, maxBytes);
  return { status: response.status, headers, body };
}

export function flattenHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

export function redirectRefused(what: string): FetchError {
  return new FetchError('FETCH_REDIRECT_REFUSED', `The server answered with ${what}`);
}

export function translate(error: unknown, isTimeOver: boolean): FetchError {
  const own = findOwnError(error);
  if (own !== undefined) return own;
  if (isTimeOver) return new FetchError('FETCH_TIMEOUT', 'The exchange took too long', { cause: error });
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'UND_ERR_CONNECT_TIMEOUT')
    return new FetchError('FETCH_TIMEOUT', 'Connecting took too long', { cause: error });
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new FetchError('FETCH_TIMEOUT', 'The server was silent for too long', { cause: error });
  if (code === 'UND_ERR_INVALID_ARG') {
    return new FetchError('FETCH_REQUEST_INVALID', 'The request cannot be sent', { cause: error });
  }
  return new FetchError('FETCH_FAILED', `The exchange failed: ${describeCode(code)}`, { cause: error });
}

/** In words, by the codes of Node.js, OpenSSL and undici; never their texts, which the server can choose. */
function describeCode(code: string): string {
  const known = faults.find(([codes]) => codes.test(code))?.[1];
  return known === undefined ? code || 'aborted' : `${known} (${code})`;
}

const faults: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection ended too early'],
  [/^E(HOST|NET)UNREACH$/, 'no route to the host'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'the TLS certificate names another host'],
  [/^CERT_HAS_EXPIRED$/, 'the TLS certificate is expired'],
  [/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/, 'the TLS certificate leads to no known authority'],
  [/^CERT_/, 'the TLS certificate is not valid'],
  [/^(ERR_SSL_|ERR_TLS_|EPROTO$)/, 'the TLS handshake failed'],
  [/^HPE_/, 'the answer is not HTTP'],
];

/** The guard's refusal may come back wrapped, once for each address family that was tried. */
function findOwnError(error: unknown): FetchError | undefined {
  if (error instanceof FetchError) return error;
  if (error instanceof AggregateError) return error.errors.map(findOwnError).find((own) => own !== undefined);
  return error instanceof Error && error.cause !== undefined ? findOwnError(error.cause) : undefined;
}
