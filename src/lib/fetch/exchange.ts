import type { Dispatcher } from 'undici';
import { FetchError } from './errors.ts';
import { hostOf } from './target-guard.ts';

/** Ends the exchange under way, of which there is one at a time. */
export interface Stop {
  isStopped: boolean;
  /** Set by the exchange while it runs. */
  end: (() => void) | undefined;
}

export interface ExchangeRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string | undefined;
  /** Of the response body. */
  readonly maxBytes: number;
  /** Resolves with the part of the body that has come when it exceeds `maxBytes`, or when it ends early. */
  readonly takesPart: boolean;
}

export interface ExchangeResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/**
 * One request and its whole response, without undici's streams and abort signals, which take longer than the
 * exchange itself. Rejects with FETCH_TOO_LARGE, or whatever undici says.
 */
export async function exchange(
  dispatcher: Dispatcher,
  request: ExchangeRequest,
  stop: Stop,
): Promise<ExchangeResponse> {
  const { url, maxBytes, takesPart } = request;
  const { promise, resolve, reject } = Promise.withResolvers<ExchangeResponse>();
  let controller: Dispatcher.DispatchController | undefined;
  let head = { status: 0, headers: {} as ExchangeResponse['headers'] };
  const chunks: Buffer[] = [];
  let length = 0;

  /** With `takesPart` an error after the head of the response only ends its body. */
  function fail(error: Error): void {
    if (takesPart && head.status !== 0)
      resolve({ ...head, body: Buffer.concat(chunks).subarray(0, maxBytes) });
    else reject(error);
  }

  function abort(error: Error): void {
    fail(error);
    controller?.abort(error);
  }

  function refuseLarge(): void {
    abort(new FetchError('FETCH_TOO_LARGE', `The response of ${hostOf(url)} exceeds ${maxBytes} bytes`));
  }

  if (stop.isStopped) throw stopped();
  stop.end = () => abort(stopped());
  try {
    dispatcher.dispatch(
      {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: request.method,
        headers: request.headers,
        body: request.body ?? null,
      },
      {
        onRequestStart(started) {
          controller = started;
          if (stop.isStopped) started.abort(stopped());
        },
        onResponseStart(_controller, status, headers) {
          // 1xx: the response itself comes later.
          if (status < 200) return;
          head = { status, headers };
          if (!takesPart && Number(headers['content-length'] ?? 0) > maxBytes) refuseLarge();
        },
        onResponseData(_controller, chunk) {
          length += chunk.length;
          if (takesPart || length <= maxBytes) chunks.push(chunk);
          if (length > maxBytes) refuseLarge();
        },
        onResponseEnd: () => resolve({ ...head, body: Buffer.concat(chunks) }),
        onResponseError: (_controller, error) => fail(error),
      },
    );
    return await promise;
  } finally {
    stop.end = undefined;
  }
}

function stopped(): Error {
  return new Error('the exchange was ended');
}
