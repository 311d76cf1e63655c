import { networkOf as networkOfAddress } from '../../core/index.ts';

/**
 * The network of a peer's address: the /24 of an IPv4 address, the /64 of an IPv6 one, which is the block
 * that one customer gets. Example: `192.0.2.0/24`, `2001:db8:0:1::/64`.
 */
export function networkOf(address: string): string {
  return networkOfAddress(address, { ipv4Bits: 24 });
}
