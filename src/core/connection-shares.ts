import type { Socket } from 'node:net';
import { networkOf } from './address-network.ts';
import { findEvictable, type Evictable } from './evict-connection.ts';

/** Its peer or its network has too many; `idle`: it made room for another; `full`: none was idle. */
export type ConnectionRefusal = 'address' | 'network' | 'idle' | 'full';

/** The table's data about a connection. */
export interface TableConnection extends Evictable {
  readonly remoteAddress: string;
  /** Ends it, because another one needs its place. */
  evict(): void;
}

/** Connections that are counted together: those of one peer, or of one network. */
export interface ConnectionShare {
  readonly reason: 'address' | 'network';
  readonly most: number;
  nameOf(address: string): string;
}

interface Limits {
  readonly maxConnections: number;
  /** A connection that is idle for less is closed only for a peer with fewer connections. */
  readonly evictIdleMs: number;
  /** Told of each connection that is refused or ended because there are too many. */
  readonly onClosed?: (reason: ConnectionRefusal) => void;
}

export interface ConnectionTable {
  /** Adds the connection; or says why not, with the name of the share that has too many. */
  enter(connection: TableConnection): { reason: ConnectionRefusal; name: string } | undefined;
  leave(connection: TableConnection): void;
  readonly size: number;
}

/**
 * Divides connections: so many for all and for each share, the first of which is that of the peer. When all
 * are in use, one that asks nothing makes room (`findEvictable`), so that peers that ask nothing, or send a
 * question in drops, do not keep the others out.
 */
export function createConnectionTable(
  { maxConnections, evictIdleMs, onClosed }: Limits,
  shares: readonly ConnectionShare[],
): ConnectionTable {
  // Each with its names: to find one that makes room, all are looked at.
  const entered = new Map<TableConnection, readonly string[]>();
  const counted = shares.map((share) => ({ ...share, counts: new Map<string, number>() }));

  function count(names: readonly string[], change: 1 | -1): void {
    for (const [index, { counts }] of counted.entries()) {
      const name = names[index] as string;
      const now = (counts.get(name) ?? 0) + change;
      if (now > 0) counts.set(name, now);
      else counts.delete(name);
    }
  }

  function leave(connection: TableConnection): void {
    const names = entered.get(connection);
    if (names === undefined) return;
    entered.delete(connection);
    count(names, -1);
  }

  const peersOf = (names: readonly string[] | undefined): number =>
    counted[0]?.counts.get(names?.[0] ?? '') ?? 0;

  function hasRoomFor(names: readonly string[]): boolean {
    if (entered.size < maxConnections) return true;
    const evicted = findEvictable<TableConnection>(entered.keys(), {
      evictIdleMs,
      share: peersOf(names) + 1,
      shareOf: (connection) => peersOf(entered.get(connection)),
    });
    if (evicted === undefined) return false;
    leave(evicted);
    evicted.evict();
    onClosed?.('idle');
    return true;
  }

  return {
    get size() {
      return entered.size;
    },
    enter(connection) {
      const names = counted.map(({ nameOf }) => nameOf(connection.remoteAddress));
      const full = counted.findIndex(
        ({ counts, most }, index) => (counts.get(names[index] ?? '') ?? 0) >= most,
      );
      if (full >= 0 || !hasRoomFor(names)) {
        const reason = counted[full]?.reason ?? 'full';
        onClosed?.(reason);
        return { reason, name: names[full] ?? '' };
      }
      entered.set(connection, names);
      count(names, 1);
      return undefined;
    },
    leave,
  };
}

export interface ConnectionSharesOptions extends Limits {
  /** A peer is an IPv4 address or an IPv6 /64, which one machine has. */
  readonly maxConnectionsPerPeer: number;
}

/** The connections of a listener. */
export interface ConnectionShares {
  /** Serves the connection, or closes it if there is no room. */
  admit(socket: Socket, serve: (socket: Socket) => Evictable): void;
  closeAll(): void;
}

/** Divides the connections of a listener: so many for all and for one peer. */
export function createConnectionShares(options: ConnectionSharesOptions): ConnectionShares {
  const table = createConnectionTable(options, [
    { reason: 'address', most: options.maxConnectionsPerPeer, nameOf: (address) => networkOf(address) },
  ]);
  const open = new Set<Socket>();
  return {
    admit(socket, serve) {
      const connection: TableConnection = {
        remoteAddress: socket.remoteAddress ?? '',
        idleSinceMs: () => served.idleSinceMs(),
        hasAsked: () => served.hasAsked(),
        evict: () => void socket.destroy(),
      };
      if (table.enter(connection) !== undefined) return void socket.destroy();
      const served = serve(socket);
      open.add(socket);
      socket.on('close', () => {
        open.delete(socket);
        table.leave(connection);
      });
    },
    closeAll() {
      for (const socket of open) socket.destroy();
    },
  };
}
