import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createConnectionShares, type ConnectionRefusal } from '../../core/index.ts';

export interface HttpConnectionLimits {
  readonly maxConnections: number;
  /** An IPv4 address or an IPv6 /64. */
  readonly maxConnectionsPerAddress: number;
}

/** A connection that is idle for less is closed only for an address with fewer. */
const evictIdleMs = 2_000;

/**
 * Limits the connections of a listener, for all and for one address. When all are in use, one of the address
 * with the most makes room, first those that have sent no whole request: half a request, repeated thousands
 * of times from however many addresses, closes the listener for no address with few. A request in progress
 * is never cut.
 */
export function limitConnections(
  server: Server,
  limits: HttpConnectionLimits,
  onClosed?: (reason: ConnectionRefusal) => void,
): void {
  const shares = createConnectionShares({
    maxConnections: limits.maxConnections,
    maxConnectionsPerPeer: limits.maxConnectionsPerAddress,
    evictIdleMs,
    ...(onClosed && { onClosed }),
  });
  const states = new Map<string, { requests: number; hasAsked: boolean; idleSinceMs: number }>();
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    shares.admit(socket, () => {
      const state = { requests: 0, hasAsked: false, idleSinceMs: performance.now() };
      states.set(key, state);
      socket.once('close', () => states.delete(key));
      return {
        idleSinceMs: () => (state.requests > 0 ? undefined : state.idleSinceMs),
        hasAsked: () => state.hasAsked,
      };
    });
  });
  const begin = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    const state = states.get(keyOf(socket));
    if (state === undefined) return;
    state.requests++;
    response.once('close', () => {
      state.hasAsked = true;
      state.requests--;
      state.idleSinceMs = performance.now();
    });
  };
  server.prependListener('request', begin);
}

/** The same for a TLS socket and the one below it. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
