import type { FetchResponse, GuardedFetch } from './guarded-fetch.ts';

const maxWaitMs = 3_600_000;
/** Of an RFC 9110 §5.6.7 date, in each of its three forms; others are no dates. */
const dateForm = /^[A-Za-z]{3,9},? [\w :-]{10,40}$/;

/**
 * The time for which a server asks not to be called again, in milliseconds: Retry-After in seconds or as a
 * date (RFC 9110 §10.2.3), an hour at most. A date counts from the server's own Date, if it sends one.
 * Undefined without a readable field or for a time that is over.
 */
export function readRetryAfter(headers: Readonly<Record<string, string>>, now: Date): number | undefined {
  const value = (headers['retry-after'] ?? '').trim();
  const ms = /^\d{1,12}(?:\.\d+)?$/.test(value)
    ? Number(value) * 1000
    : readDateWait(value, headers['date'], now);
  return ms !== undefined && ms > 0 ? Math.min(Math.ceil(ms), maxWaitMs) : undefined;
}

function readDateWait(value: string, serverDate: string | undefined, now: Date): number | undefined {
  const until = readHttpDate(value);
  const since = readHttpDate(serverDate ?? '') ?? now.getTime();
  return until === undefined ? undefined : until - since;
}

function readHttpDate(text: string): number | undefined {
  if (!dateForm.test(text)) return undefined;
  // The oldest form names no zone and means UTC.
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Answers that ask for a pause; more are not remembered. */
const maxPauses = 10_000;
const pausingStatuses: ReadonlySet<number> = new Set([429, 503]);

/**
 * The same fetch, which calls no URL before the time that its server asked for by Retry-After: until then it
 * resolves with the status that it got, without a body. For callers that come back by their own schedule.
 */
export function followRetryAfter(fetch: GuardedFetch, clock: { now(): Date }): GuardedFetch {
  const pauses = new Map<string, { readonly until: number; readonly response: FetchResponse }>();
  return async (url, init) => {
    const now = clock.now().getTime();
    const pause = pauses.get(url);
    if (pause !== undefined && pause.until > now) return pause.response;
    pauses.delete(url);
    const response = await fetch(url, init);
    const waitMs = pausingStatuses.has(response.status)
      ? readRetryAfter(response.headers, clock.now())
      : undefined;
    if (waitMs !== undefined) {
      if (pauses.size >= maxPauses) pauses.clear();
      const { status, headers } = response;
      pauses.set(url, { until: now + waitMs, response: { status, headers, body: new Uint8Array() } });
    }
    return response;
  };
}

/** Of a server that has no time for us: Request Timeout, Too Early, Too Many Requests. */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

/** True for the HTTP status of a failure that another try may not have. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || passingStatuses.has(status);
}
