import { createLineLimit, type Log } from '../../core/index.ts';
import type { EdgeName } from '../edges/index.ts';
import type { Metrics } from '../../platform/index.ts';

export type ListenerName = 'api' | 'console' | 'metrics' | 'smtp' | 'dns' | 'ldap' | EdgeName;

/** Told of each connection that a listener closes because there are too many, with the reason. */
export type OnClosed = (reason: string) => void;

/** The rest of a minute's is in the metrics. */
const leaveOutRest = (): void => {};

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
  const limit = createLineLimit();
  return (listener) => (reason) => {
    counter.add({ listener, reason });
    const warn = () => log.warn({ listener, reason }, 'connections are closed: there are too many');
    limit.tell(listener, 1, warn, leaveOutRest);
  };
}

/** Counts what edges refuse because the memory of a setting is used up, and warns once per minute of each. */
export function createEdgeRefusedCount({
  metrics,
  log,
}: {
  readonly metrics: Metrics;
  readonly log: Log;
}): (setting: string) => void {
  const counter = metrics.counter({
    name: 'openhisp_edge_refused_total',
    help: 'Messages and lists of messages that edges refused, by the setting whose memory was used up.',
    labels: ['setting'],
  });
  const limit = createLineLimit();
  return (setting) => {
    counter.add({ setting });
    const warn = () =>
      log.warn({ setting }, 'edges refuse messages or mailboxes: the memory of a setting is used up');
    limit.tell(setting, 1, warn, leaveOutRest);
  };
}
