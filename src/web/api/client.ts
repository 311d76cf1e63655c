/**
 * The admin API in the browser: requests, pages, live events, session, drafts.
 * Used by any folder of `web`.
 * Begin with this file, then `pages.ts`.
 */
import { parseVisible, visibleText } from './visible-text.ts';
import type { ErrorAnswer, Problem } from '../../app/console/contract/index.ts';

type Envelope = Partial<ErrorAnswer>;

/** A refusal of the admin API, or no answer at all (`status` 0). `message` is a sentence for people. */
export class ApiError extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];
  readonly requestId: string | undefined;

  constructor(status: number, message: string, problems: readonly Problem[] = [], requestId?: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.problems = problems;
    this.requestId = requestId;
  }
}

export type QueryValue = string | number | boolean | null | undefined | readonly string[];
export type Query = Readonly<Record<string, QueryValue>>;

export const apiRoot = '/admin/v1';

/** Marks background reads, which must not keep an unused session alive. */
const activityMs = 60_000;
let lastInputAt = performance.now();
for (const name of ['pointerdown', 'keydown', 'wheel', 'touchstart'])
  addEventListener(name, () => (lastInputAt = performance.now()), { capture: true, passive: true });

let onSignedOut: () => void = () => undefined;

/** Sets the handler for answers that say that the session has ended. */
export function setSignedOutHandler(handler: () => void): void {
  onSignedOut = handler;
}

/** `/admin/v1` + path with the values that are set; empty strings and null are omitted. */
export function apiUrl(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '' || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) parameters.append(name, String(one));
  }
  const text = parameters.toString();
  return `${apiRoot}${path}${text === '' ? '' : `?${text}`}`;
}

/** Reads JSON. Throws `ApiError`. */
export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return readBody<T>(await send('GET', apiUrl(path, query), undefined, signal));
}

/** As `get`, for background refreshes, which the audit trail does not record as views. */
export async function getAgain<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return readBody<T>(await send('GET', apiUrl(path, query), undefined, signal, undefined, true));
}

/** Reads text, such as a ticket. Throws `ApiError`. */
export async function getText(path: string, query?: Query, signal?: AbortSignal): Promise<string> {
  return visibleText(await (await send('GET', apiUrl(path, query), undefined, signal)).text());
}

/** Sends JSON and reads the JSON answer; undefined if it has none. Throws `ApiError`. */
export async function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  return readBody<T>(await send('POST', apiUrl(path), JSON.stringify(body), signal));
}

/**
 * As `post`, for a request that may be repeated: one that has no answer is not said to be a change that may
 * have been made.
 */
export async function ask<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  return post<T>(path, body, signal).catch((error: unknown) => {
    throw error instanceof ApiError && error.status === 0 ? new ApiError(0, noAnswer) : error;
  });
}

const signInMs = 30_000;

/**
 * As `ask`, for signing in, when nothing else of the console is shown that says that the server hangs: it
 * waits for 30 s at most.
 */
export async function askInTime<T>(path: string, body: unknown = {}): Promise<T> {
  return ask<T>(path, body, AbortSignal.timeout(signInMs));
}

/** As `get`, within the same time. */
export async function getInTime<T>(path: string, signal: AbortSignal): Promise<T> {
  return get<T>(path, {}, AbortSignal.any([signal, AbortSignal.timeout(signInMs)]));
}

export async function put<T>(path: string, body: unknown): Promise<T> {
  return readBody<T>(await send('PUT', apiUrl(path), JSON.stringify(body)));
}

export async function patch<T>(path: string, body: unknown): Promise<T> {
  return readBody<T>(await send('PATCH', apiUrl(path), JSON.stringify(body)));
}

export async function remove<T>(path: string, query?: Query): Promise<T> {
  return readBody<T>(await send('DELETE', apiUrl(path, query), '{}'));
}

/** Uploads a file as it is. Throws `ApiError`. */
export async function upload<T>(path: string, file: Blob, query?: Query, signal?: AbortSignal): Promise<T> {
  return readBody<T>(
    await send('POST', apiUrl(path, query), file, signal, file.type || 'application/octet-stream'),
  );
}

/** Sends JSON, changes nothing, and yields each line of an NDJSON answer as it arrives. Throws `ApiError`. */
export async function* postForLines<T>(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<T> {
  const response = await send('POST', apiUrl(path), JSON.stringify(body), signal);
  if (response.body === null) return;
  let rest = '';
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read().catch((error: unknown) => refuseCut(error));
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield parseVisible<T>(line);
  }
  if (rest.trim() !== '') yield parseVisible<T>(rest);
}

async function send(
  method: string,
  url: string,
  body?: string | Blob,
  signal?: AbortSignal,
  contentType = 'application/json',
  isBackground = performance.now() - lastInputAt > activityMs,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      credentials: 'same-origin',
      headers: {
        accept: 'application/json, text/plain;q=0.5, */*;q=0.1',
        ...(body === undefined ? {} : { 'content-type': contentType }),
        ...(isBackground ? { 'x-background': '1' } : {}),
      },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, method === 'GET' ? noAnswer : noAnswerToChange);
  }
  if (response.ok) return response;
  throw await readRefusal(response);
}

const noAnswer = 'The server does not respond. Check that it is running and reachable.';
const noAnswerToChange =
  'The answer of the server was lost. The change may have been made: look before you try again.';

const notOurs = 'The answer is not of this console. A proxy in between may have sent it; reload the page.';

/** The browser's error for an answer that ends in the middle says little. */
function refuseCut(error: unknown): never {
  if (error instanceof DOMException && error.name === 'AbortError') throw error;
  throw new ApiError(0, 'The connection was lost before the answer was complete. Try again.');
}

async function readRefusal(response: Response): Promise<ApiError> {
  // Of a proxy, the body may be anything.
  const envelope = (await readBody<Envelope | undefined>(response).catch(() => undefined)) ?? {};
  const problems = Array.isArray(envelope.errors) ? envelope.errors : [];
  // A refused sign-in does not end the session that there is.
  const isSignIn = new URL(response.url).pathname.startsWith(`${apiRoot}/sign-in/`);
  if (response.status === 401 && !isSignIn) onSignedOut();
  return new ApiError(
    response.status,
    sentenceFor(response, envelope, problems),
    problems,
    envelope.requestId,
  );
}

function sentenceFor(response: Response, envelope: Envelope, problems: readonly Problem[]): string {
  const details = problems.map(({ field, detail }) =>
    field === '' || detail.startsWith(field) ? detail : `${field}: ${detail}`,
  );
  if (response.status === 429) return refusedForNow(response, details);
  if (details.length > 0) return details.join(' ');
  if (response.status === 401) return 'You are signed out.';
  if (response.status === 403) return 'Your role does not allow this.';
  if (response.status === 404) return 'Not found.';
  if (response.status >= 500) return 'The server failed. Try again; if the error persists, check its log.';
  return envelope.message ?? `The server answered ${response.status}.`;
}

function refusedForNow({ headers }: Response, details: readonly string[]): string {
  const seconds = headers.get('retry-after');
  const said = details.join(' ');
  if (seconds !== null) return `${said || 'Too many requests.'} Try again in ${seconds} s.`;
  return said || 'Too many requests. Wait a moment, then try again.';
}

async function readBody<T>(response: Response): Promise<T> {
  const text = await response.text().catch((error: unknown) => refuseCut(error));
  if (text === '') return undefined as T;
  try {
    return parseVisible<T>(text);
  } catch {
    throw new ApiError(response.status, notOurs);
  }
}
