import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Closable } from '../../core/index.ts';
import type { Metrics } from '../../platform/index.ts';
import { limitConnections } from '../http/index.ts';

/** Of a few collectors. */
const limits = { maxConnections: 40, maxConnectionsPerAddress: 20 };

export interface MetricsListener extends Closable {
  readonly port: number;
}

/**
 * Answers `/metrics` on a port that serves nothing else, so that a firewall can keep it apart from the API.
 */
export async function startMetrics(
  metrics: Metrics,
  {
    host,
    port,
    onClosed,
  }: {
    readonly host: string;
    readonly port: number;
    readonly onClosed?: (reason: string) => void;
  },
): Promise<MetricsListener> {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    if (request.method !== 'GET' || request.url?.split('?', 1)[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    metrics.text().then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  limitConnections(server, limits, onClosed);
  server.listen({ host, port });
  await once(server, 'listening');
  // A connection that cannot be accepted does not concern the others.
  server.on('error', () => {});
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
