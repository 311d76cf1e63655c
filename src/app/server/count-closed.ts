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
  const warn = createRareWarning(log, 'connections are closed: there are too many');
  return (listener) => (reason) => {
    counter.add({ listener, reason });
    warn(listener, { listener, reason });
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
  const warn = createRareWarning(
    log,
    'edges refuse messages or mailboxes: the memory of a setting is used up',
  );
  return (setting) => {
    counter.add({ setting });
    warn(setting, { setting });
  };
}

function createRareWarning(
  log: Log,
  text: string,
): (about: string, fields: Readonly<Record<string, string>>) => void {
  const warnedMs = new Map<string, number>();
  return (about, fields) => {
    const now = performance.now();
    if (now - (warnedMs.get(about) ?? -Infinity) < warnEveryMs) return;
    warnedMs.set(about, now);
    log.warn(fields, text);
  };
}
