import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { apiUrl } from './client.ts';
import { sessionKey } from './session.ts';

export type LiveState = 'connecting' | 'live' | 'lost';

const firstRetryMs = 1000;
const lastRetryMs = 30_000;

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

type LiveEvent = 'load' | 'exchange';

const subscribers: Readonly<Record<LiveEvent, Set<(data: unknown) => void>>> = {
  load: new Set(),
  exchange: new Set(),
};

/**
 * Hears events of the stream that concern one screen, with their data as parsed.
 * @returns ends it
 */
export function subscribeLive(event: LiveEvent, hear: (data: unknown) => void): () => void {
  subscribers[event].add(hear);
  return () => void subscribers[event].delete(hear);
}

/**
 * Keeps one stream of server-sent events open. An event `changed` names topics; every query whose key begins with one is
 * read again. After a gap everything is, since what changed meanwhile is unknown.
 * @returns closes the stream
 */
export function connectLive(client: QueryClient): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let retryMs = firstRetryMs;
  let hasBeenLive = false;

  const open = (): void => {
    source = new EventSource(apiUrl('/live'));
    source.addEventListener('open', () => {
      retryMs = firstRetryMs;
      if (hasBeenLive) void client.invalidateQueries();
      hasBeenLive = true;
      setState('live');
    });
    source.addEventListener('changed', (event: MessageEvent<string>) => {
      const { topics } = JSON.parse(event.data) as { readonly topics: readonly string[] };
      // What Now shows is made of everything else.
      for (const topic of [...topics, 'now']) void client.invalidateQueries({ queryKey: [topic] });
    });
    for (const [name, hearers] of Object.entries(subscribers)) {
      source.addEventListener(name, (event: MessageEvent<string>) => {
        const data: unknown = JSON.parse(event.data);
        for (const hear of hearers) hear(data);
      });
    }
    source.addEventListener('error', () => {
      setState('lost');
      // The browser reconnects by itself after a cut, but not after a refusal.
      if (source?.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(() => {
        void client.invalidateQueries({ queryKey: sessionKey });
        open();
      }, retryMs);
      retryMs = Math.min(retryMs * 2, lastRetryMs);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
    setState('connecting');
  };
}
