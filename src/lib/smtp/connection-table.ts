import {
  createConnectionTable as createTable,
  networkOf as networkOfAddress,
  type ConnectionRefusal,
  type ConnectionTable,
} from '../../core/index.ts';
import type { SmtpReply } from './reply.ts';

export interface ConnectionLimits {
  readonly maxConnections: number;
  readonly maxConnectionsPerPeer: number;
  readonly maxConnectionsPerNetwork: number;
  /** A connection that is idle for less is evicted only for an address with fewer. */
  readonly evictIdleMs: number;
  readonly onClosed?: (reason: ConnectionRefusal) => void;
}

/** Divides the connections: so many for all, for one address and for one network. */
export function createConnectionTable(limits: ConnectionLimits): ConnectionTable {
  return createTable(limits, [
    { reason: 'address', most: limits.maxConnectionsPerPeer, nameOf: (address) => address },
    { reason: 'network', most: limits.maxConnectionsPerNetwork, nameOf: networkOf },
  ]);
}

export function replyToRefused({ reason, name }: { reason: ConnectionRefusal; name: string }): SmtpReply {
  return reason === 'full'
    ? { code: 421, enhancedCode: '4.3.2', text: 'Too many connections, try again later' }
    : { code: 421, enhancedCode: '4.7.0', text: `Too many connections from ${name}` };
}

/**
 * The network of a peer's address: the /24 of an IPv4 address, the /64 of an IPv6 one, which is the block
 * that one customer gets. Example: `192.0.2.0/24`, `2001:db8:0:1::/64`.
 */
export function networkOf(address: string): string {
  return networkOfAddress(address, { ipv4Bits: 24 });
}
