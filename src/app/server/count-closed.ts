import type { Log } from '../../core/index.ts';
import type { EdgeName } from '../edges/index.ts';
import type { Metrics } from '../../platform/index.ts';

export type ListenerName = 'api' | 'console' | 'metrics' | 'smtp' | 'dns' | 'ldap' | EdgeName;

/** Told of each connection that a listener closes because there are too many, with the reason. */
export type OnClosed = (reason: string) => void;

const warnEveryMs = 60_000;

/**
 * Counts the connections that a listener closes because it, an address or a network has too many, and warns
 * once per minute and listener.
 */
export function createClosedCount({
  metrics,
  log,
}: {
  readonly metrics: Metrics;
  readonly log: Log;
}): (listener: ListenerName) => OnClosed {
  const counter = metrics.counter({
    name: 'openhisp_connections_closed_total',
    help: 'Connections closed because the listener, or an address or network, had too many.',
    labels: ['listener', 'reason'],
  });
  return (listener) => {
    let warnedMs = -Infinity;
    return (reason) => {
      counter.add({ listener, reason });
      if (performance.now() - warnedMs < warnEveryMs) return;
      warnedMs = performance.now();
      log.warn({ listener, reason }, 'connections are closed: there are too many');
    };
  };
}
