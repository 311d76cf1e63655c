import { BlockList, isIP } from 'node:net';

/** Special-purpose IPv4 blocks (RFC 6890 and the IANA registry that it set up): never a public target. */
const specialIpv4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/**
 * Exceptions inside the global unicast block 2000::/3: Teredo and other protocol blocks, documentation, 6to4.
 */
const specialIpv6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const refusedIpv4 = blockList(specialIpv4, 'ipv4');
const refusedIpv6 = blockList(specialIpv6, 'ipv6');
const globalIpv6 = blockList([['2000::', 3]], 'ipv6');

/**
 * True if the address (without brackets or zone) is reachable by everybody. Everything outside IPv6 global
 * unicast is refused, IPv4-mapped and translated (64:ff9b::/96) forms included: those could lead to a private
 * IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !refusedIpv4.check(address, 'ipv4');
    case 6:
      return (
        !address.includes('%') && globalIpv6.check(address, 'ipv6') && !refusedIpv6.check(address, 'ipv6')
      );
    default:
      return false;
  }
}

function blockList(subnets: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [network, prefixBits] of subnets) list.addSubnet(network, prefixBits, family);
  return list;
}
