import { isIPv6 } from 'node:net';

/**
 * The network of a peer's address: the /24 of an IPv4 address, the /64 of an IPv6 one, which is the block that one
 * customer gets. Example: `192.0.2.0/24`, `2001:db8:0:1::/64`.
 */
export function networkOf(address: string): string {
  const plain = address.includes(':') ? address.replace(/^::ffff:(?=\d+\.)/i, '') : address;
  if (plain.includes(':') && isIPv6(plain)) return `${expand(plain).slice(0, 4).join(':')}::/64`;
  return `${plain.split('.').slice(0, 3).join('.')}.0/24`;
}

/** The eight groups without leading zeros. An embedded IPv4 address, which is in the last two, is omitted. */
function expand(address: string): string[] {
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::');
  const before = groupsOf(head);
  if (tail === undefined) return before;
  const after = groupsOf(tail);
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after];
}

function groupsOf(text: string): string[] {
  return text
    .split(':')
    .filter((group) => group !== '')
    .flatMap((group) => (group.includes('.') ? ['0', '0'] : [Number.parseInt(group, 16).toString(16)]));
}
