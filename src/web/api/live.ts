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

/**
 * Keeps one stream of server-sent events open. An event `changed` names topics; every query whose key begins
 * with one is refetched. After a gap all queries are refetched, since the missed changes are unknown.
 *
 * A server that hangs and a network that is gone end no connection, so a stream without a heartbeat counts as
 * lost.
 * @returns closes the stream
 */
export function connectLive(client: QueryClient): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let retryMs = firstRetryMs;
  let hasBeenLive = false;

  const reopen = (): void => {
    clearTimeout(silence);
    source?.close();
    setState('lost');
    timer = setTimeout(() => {
      void client.invalidateQueries({ queryKey: sessionKey });
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
    for (const name of ['open', 'beat', 'changed', 'load']) source.addEventListener(name, noteLife);
    source.addEventListener('open', () => {
      retryMs = firstRetryMs;
      if (hasBeenLive) void client.invalidateQueries();
      hasBeenLive = true;
      setState('live');
    });
    source.addEventListener('changed', (event: MessageEvent<string>) => {
      const { topics } = JSON.parse(event.data) as { readonly topics: readonly string[] };
      // Now summarizes all other topics.
      for (const topic of [...topics, 'now']) void client.invalidateQueries({ queryKey: [topic] });
    });
    source.addEventListener('load', (event: MessageEvent<string>) => {
      const load = JSON.parse(event.data) as LoadEvent;
      for (const listener of loadListeners) listener(load);
    });
    source.addEventListener('error', () => {
      setState('lost');
      // The browser reconnects automatically after a lost connection, but not after a refusal.
      if (source?.readyState === EventSource.CLOSED) reopen();
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    clearTimeout(silence);
    source?.close();
    setState('connecting');
  };
}
