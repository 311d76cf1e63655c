import type { Socket } from 'node:net';
import { networkOf } from './address-network.ts';

export interface ConnectionSharesOptions {
  readonly maxConnections: number;
  /** A peer is an IPv4 address or an IPv6 /64, which one machine has. */
  readonly maxConnectionsPerPeer: number;
  /** A connection that is idle for less is not closed for another one. */
  readonly evictIdleMs: number;
  readonly onClosed?: (reason: ConnectionRefusal) => void;
}

/** `address`: its peer has too many; `idle`: it made room for another; `full`: none was idle. */
export type ConnectionRefusal = 'address' | 'idle' | 'full';

/** What is served on a connection. */
export interface ServedConnection {
  /**
   * When its last answer was given, or it began; undefined while an answer is owed. By `performance.now()`.
   */
  idleSinceMs(): number | undefined;
}

/** The connections of a listener for short questions. */
export interface ConnectionShares {
  /** Serves the connection, or closes it if there is no room. */
  admit(socket: Socket, serve: (socket: Socket) => ServedConnection): void;
  closeAll(): void;
}

/**
 * Divides the connections of a listener: so many for all and for one peer. When all are in use the one that
 * has been idle longest makes room, so that peers that ask nothing, or send a question in drops, do not keep
 * the others out.
 */
export function createConnectionShares(options: ConnectionSharesOptions): ConnectionShares {
  const connections = new Map<Socket, ServedConnection>();
  const countsByPeer = new Map<string, number>();

  function hasRoom(): boolean {
    if (connections.size < options.maxConnections) return true;
    let idlest: Socket | undefined;
    let sinceMs = performance.now() - options.evictIdleMs;
    for (const [socket, connection] of connections) {
      const idleSinceMs = connection.idleSinceMs() ?? Infinity;
      if (idleSinceMs > sinceMs) continue;
      idlest = socket;
      sinceMs = idleSinceMs;
    }
    if (idlest === undefined) return false;
    connections.delete(idlest);
    idlest.destroy();
    options.onClosed?.('idle');
    return true;
  }

  return {
    admit(socket, serve) {
      const peer = networkOf(socket.remoteAddress ?? '');
      const count = (countsByPeer.get(peer) ?? 0) + 1;
      const refusal = count > options.maxConnectionsPerPeer ? 'address' : hasRoom() ? undefined : 'full';
      if (refusal !== undefined) {
        options.onClosed?.(refusal);
        return void socket.destroy();
      }
      countsByPeer.set(peer, count);
      connections.set(socket, serve(socket));
      socket.on('close', () => {
        connections.delete(socket);
        const left = (countsByPeer.get(peer) ?? 1) - 1;
        if (left > 0) countsByPeer.set(peer, left);
        else countsByPeer.delete(peer);
      });
    },
    closeAll() {
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}
