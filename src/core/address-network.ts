import { isIPv6 } from 'node:net';

/**
 * The network that an address is counted with: an IPv4 address by its first `ipv4Bits` (8, 16, 24 or 32), an
 * IPv6 address by its first `ipv6Bits`, whatever form it is written in. IPv4 addresses mapped into IPv6 count
 * as IPv4. Example: `192.0.2.0/24`, `2001:db8:0:1::/64`.
 */
export function networkOf(
  address: string,
  { ipv4Bits = 32, ipv6Bits = 64 }: { readonly ipv4Bits?: number; readonly ipv6Bits?: number } = {},
): string {
  const plain = address.includes(':')
    ? (address.replace(/^::ffff:(?=\d+\.)/i, '').split('%')[0] ?? '')
    : address;
  if (!plain.includes(':') || !isIPv6(plain))
    return ipv4Bits === 32
      ? plain
      : `${plain
          .split('.')
          .map((octet, index) => (index < ipv4Bits / 8 ? octet : '0'))
          .join('.')}/${ipv4Bits}`;
  const groups = groupsOf(plain).map((group, index) => {
    const kept = Math.min(16, Math.max(0, ipv6Bits - index * 16));
    return group & (0xffff << (16 - kept)) & 0xffff;
  });
  const used = groups.slice(0, Math.ceil(ipv6Bits / 16)).map((group) => group.toString(16));
  return `${used.join(':')}::/${ipv6Bits}`;
}

/** The eight groups of an IPv6 address as numbers. */
function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = address.toLowerCase().split('::');
  const before = textGroups(head);
  const after = tail === undefined ? [] : textGroups(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after];
}

function textGroups(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
