import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import type { LoadEvent } from '../../app/console/contract/index.ts';
import { apiUrl } from './client.ts';
import { sessionKey } from './session.ts';

export type LiveState = 'connecting' | 'live' | 'lost';

const firstRetryMs = 1000;
const lastRetryMs = 30_000;
/** Three heartbeats of the server. */
const maxSilenceMs = 15_000;

let state: LiveState = 'connecting';
const listeners = new Set<() => void>();

function setState(next: LiveState): void {
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

const loadListeners = new Set<(event: LoadEvent) => void>();

/** Calls `listener` with the progress of directory loads. Returns a function that unsubscribes. */
export function subscribeLoads(listener: (event: LoadEvent) => void): () => void {
  loadListeners.add(listener);
  return () => void loadListeners.delete(listener);
}

/** What one tab tells the others: an event of the stream, its loss, or that the session may have ended. */
interface News {
  readonly name: 'open' | 'beat' | 'changed' | 'load' | 'lost' | 'session' | 'hello';
  readonly data?: string;
}

const streamEvents = ['open', 'beat', 'changed', 'load'] as const;
/** Of the lock and the channel that the tabs of one browser share. */
const shared = 'openhisp-live';

/**
 * Keeps one stream of server-sent events open for all tabs: a browser has six connections to a server over
 * HTTP/1.1, and six streams would leave none for anything else. The tab that holds the lock reads the stream
 * and tells the others; when it is closed, the next one takes over, and while it stands still, a tab that is
 * seen reads a stream besides. An event `changed` names topics; every query whose key begins with one is
 * refetched. After a gap all queries are refetched, since the missed changes are unknown.
 *
 * A server that hangs and a network that is gone end no connection, so a stream without a heartbeat counts as
 * lost.
 * @returns closes the stream
 */
export function connectLive(client: QueryClient): () => void {
  const channel = new BroadcastChannel(shared);
  const closing = new AbortController();
  let stream: { close(): void } | undefined;
  let besides: { close(): void } | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let hasBeenLive = false;

  const hear = ({ name, data = '' }: News): void => {
    if (name === 'hello') {
      if (stream !== undefined && state === 'live') channel.postMessage({ name: 'beat' } satisfies News);
      return;
    }
    clearTimeout(silence);
    // The tab that reads the stream has nothing to say until it has tried again.
    const isTrying = name === 'lost' || name === 'session';
    silence = setTimeout(fallSilent, isTrying ? lastRetryMs + maxSilenceMs : maxSilenceMs);
    if (name === 'lost') setState('lost');
    else if (name === 'session') void client.invalidateQueries({ queryKey: sessionKey });
    else {
      if (name === 'open' || state !== 'live') {
        if (hasBeenLive) void client.invalidateQueries();
        hasBeenLive = true;
        setState('live');
      }
      if (name === 'changed') {
        const { topics } = JSON.parse(data) as { readonly topics: readonly string[] };
        // Now summarizes all other topics.
        for (const topic of [...topics, 'now']) void client.invalidateQueries({ queryKey: [topic] });
      }
      if (name === 'load') for (const listener of loadListeners) listener(JSON.parse(data) as LoadEvent);
    }
  };
  const tell = (news: News): void => {
    hear(news);
    channel.postMessage(news);
  };
  const closeBesides = (): void => {
    besides?.close();
    besides = undefined;
  };
  const fallSilent = (): void => {
    setState('lost');
    // A dialog, a debugger, or a telephone that puts a tab to sleep stops it without taking the lock from it.
    if (stream === undefined && !document.hidden) besides ??= readStream(hear);
    silence = setTimeout(fallSilent, maxSilenceMs);
  };

  channel.addEventListener('message', ({ data }: MessageEvent<News>) => {
    if (data.name !== 'hello') closeBesides();
    hear(data);
  });
  channel.postMessage({ name: 'hello' } satisfies News);
  silence = setTimeout(fallSilent, maxSilenceMs);
  // Without HTTPS, and by a name of the network, a browser gives no locks: each tab reads its stream.
  if (!('locks' in navigator)) stream = readStream(hear);
  else
    (navigator as Navigator).locks
      .request(shared, { signal: closing.signal }, () => {
        const ended = Promise.withResolvers<void>();
        closeBesides();
        stream = readStream(tell);
        closing.signal.addEventListener('abort', () => ended.resolve());
        return ended.promise;
      })
      // Closed before its turn came.
      .catch(() => {});
  return () => {
    closing.abort();
    stream?.close();
    closeBesides();
    clearTimeout(silence);
    channel.close();
    setState('connecting');
  };
}

/** Reads the stream for all tabs, and opens it again after a loss. */
function readStream(tell: (news: News) => void): { close(): void } {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let retryMs = firstRetryMs;

  const reopen = (): void => {
    clearTimeout(silence);
    source?.close();
    tell({ name: 'lost' });
    timer = setTimeout(() => {
      tell({ name: 'session' });
      open();
    }, retryMs);
    retryMs = Math.min(retryMs * 2, lastRetryMs);
  };
  const noteLife = (): void => {
    clearTimeout(silence);
    silence = setTimeout(reopen, maxSilenceMs);
  };
  const open = (): void => {
    source = new EventSource(apiUrl('/live'));
    noteLife();
    for (const name of streamEvents)
      source.addEventListener(name, (event) => {
        noteLife();
        if (name === 'open') retryMs = firstRetryMs;
        tell({ name, ...(event instanceof MessageEvent && { data: String(event.data) }) });
      });
    source.addEventListener('error', () => {
      tell({ name: 'lost' });
      // The browser reconnects automatically after a lost connection, but not after a refusal.
      if (source?.readyState === EventSource.CLOSED) reopen();
    });
  };
  open();
  return {
    close() {
      clearTimeout(timer);
      clearTimeout(silence);
      source?.close();
    },
  };
}
