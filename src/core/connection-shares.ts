import type { Socket } from 'node:net';
import { networkOf } from './address-network.ts';
import { findEvictable, type Evictable } from './evict-connection.ts';

export interface ConnectionSharesOptions {
  readonly maxConnections: number;
  /** A peer is an IPv4 address or an IPv6 /64, which one machine has. */
  readonly maxConnectionsPerPeer: number;
  /** A connection that is idle for less is closed only for a peer with fewer connections. */
  readonly evictIdleMs: number;
  readonly onClosed?: (reason: ConnectionRefusal) => void;
}

/** `address`: its peer has too many; `idle`: it made room for another; `full`: none was idle. */
export type ConnectionRefusal = 'address' | 'idle' | 'full';

/** What is served on a connection. */
export type ServedConnection = Evictable;

interface Entered extends Evictable {
  readonly socket: Socket;
  readonly peer: string;
}

/** The connections of a listener for short questions. */
export interface ConnectionShares {
  /** Serves the connection, or closes it if there is no room. */
  admit(socket: Socket, serve: (socket: Socket) => ServedConnection): void;
  closeAll(): void;
}

/**
 * Divides the connections of a listener: so many for all and for one peer. When all are in use, one that
 * asks nothing makes room (`findEvictable`), so that peers that ask nothing, or send a question in drops, do
 * not keep the others out.
 */
export function createConnectionShares(options: ConnectionSharesOptions): ConnectionShares {
  const connections = new Map<Socket, Entered>();
  const countsByPeer = new Map<string, number>();
  const countOf = (peer: string): number => countsByPeer.get(peer) ?? 0;

  function leave({ socket, peer }: Entered): void {
    if (!connections.delete(socket)) return;
    const left = countOf(peer) - 1;
    if (left > 0) countsByPeer.set(peer, left);
    else countsByPeer.delete(peer);
  }

  function hasRoom(share: number): boolean {
    if (connections.size < options.maxConnections) return true;
    const shareOf = ({ peer }: Entered): number => countOf(peer);
    const evicted = findEvictable(connections.values(), { ...options, share, shareOf });
    if (evicted === undefined) return false;
    leave(evicted);
    evicted.socket.destroy();
    options.onClosed?.('idle');
    return true;
  }

  return {
    admit(socket, serve) {
      const peer = networkOf(socket.remoteAddress ?? '');
      const count = countOf(peer) + 1;
      const refusal = count > options.maxConnectionsPerPeer ? 'address' : hasRoom(count) ? undefined : 'full';
      if (refusal !== undefined) {
        options.onClosed?.(refusal);
        return void socket.destroy();
      }
      countsByPeer.set(peer, count);
      const served = serve(socket);
      const entered: Entered = {
        socket,
        peer,
        idleSinceMs: () => served.idleSinceMs(),
        hasAsked: () => served.hasAsked(),
      };
      connections.set(socket, entered);
      socket.on('close', () => leave(entered));
    },
    closeAll() {
      for (const socket of connections.keys()) socket.destroy();
    },
  };
}
