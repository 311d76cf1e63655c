import { type Evictable, findEvictable, networkOf as networkOfAddress } from '../../core/index.ts';
import type { SmtpReply } from './reply.ts';

/** The table's data about a connection. */
export interface TableConnection extends Evictable {
  readonly remoteAddress: string;
  /** Ends it, because another one needs its place. */
  evict(): void;
}

export interface ConnectionLimits {
  readonly maxConnections: number;
  readonly maxConnectionsPerPeer: number;
  readonly maxConnectionsPerNetwork: number;
  /** A connection that is idle for less is evicted only for an address with fewer. */
  readonly evictIdleMs: number;
  /** Told of each connection that is refused or ended because there are too many. */
  readonly onClosed?: (reason: 'address' | 'network' | 'idle' | 'full') => void;
}

export interface ConnectionTable {
  /** Adds the connection, or returns the reply of its refusal. */
  enter(connection: TableConnection): SmtpReply | undefined;
  leave(connection: TableConnection): void;
  readonly size: number;
}

/**
 * Divides the connections: so many for all, for one address and for one network. When all are in use,
 * one that brings nothing makes room (`findEvictable`), so that idle peers do not keep the others out.
 */
export function createConnectionTable(limits: ConnectionLimits): ConnectionTable {
  const entered = new Set<TableConnection>();
  const addresses = new Map<string, number>();
  const networks = new Map<string, number>();

  function leave(connection: TableConnection): void {
    if (!entered.delete(connection)) return;
    count(addresses, connection.remoteAddress, -1);
    count(networks, networkOf(connection.remoteAddress), -1);
  }

  function evictFor(address: string): boolean {
    const evicted = findEvictable(entered, {
      evictIdleMs: limits.evictIdleMs,
      share: (addresses.get(address) ?? 0) + 1,
      shareOf: ({ remoteAddress }) => addresses.get(remoteAddress) ?? 0,
    });
    if (evicted === undefined) return false;
    leave(evicted);
    evicted.evict();
    limits.onClosed?.('idle');
    return true;
  }

  function refuse(reason: 'address' | 'network' | 'full', reply: SmtpReply): SmtpReply {
    limits.onClosed?.(reason);
    return reply;
  }

  return {
    get size() {
      return entered.size;
    },
    enter(connection) {
      const { remoteAddress } = connection;
      const network = networkOf(remoteAddress);
      if ((addresses.get(remoteAddress) ?? 0) >= limits.maxConnectionsPerPeer)
        return refuse('address', tooMany(remoteAddress));
      if ((networks.get(network) ?? 0) >= limits.maxConnectionsPerNetwork)
        return refuse('network', tooMany(network));
      if (entered.size >= limits.maxConnections && !evictFor(remoteAddress)) return refuse('full', full);
      entered.add(connection);
      count(addresses, remoteAddress, 1);
      count(networks, network, 1);
      return undefined;
    },
    leave,
  };
}

const full: SmtpReply = {
  code: 421,
  enhancedCode: '4.3.2',
  text: 'Too many connections, try again later',
};

function tooMany(from: string): SmtpReply {
  return { code: 421, enhancedCode: '4.7.0', text: `Too many connections from ${from}` };
}

function count(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + change;
  if (now > 0) counts.set(key, now);
  else counts.delete(key);
}

/**
 * The network of a peer's address: the /24 of an IPv4 address, the /64 of an IPv6 one, which is the block
 * that one customer gets. Example: `192.0.2.0/24`, `2001:db8:0:1::/64`.
 */
export function networkOf(address: string): string {
  return networkOfAddress(address, { ipv4Bits: 24 });
}
