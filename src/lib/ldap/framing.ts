import { LdapError } from './errors.ts';

/**
 * The length of the first message in the bytes received so far, or undefined when its header is incomplete.
 * LDAP allows definite lengths only (RFC 4511 §5.1). Throws `LDAP_MESSAGE_INVALID` for anything but a
 * SEQUENCE within the limit, before its content has arrived.
 */
export function messageLength(bytes: Uint8Array, maxOctets: number): number | undefined {
  const [tag, first] = bytes;
  if (tag !== undefined && tag !== 0x30) throw invalid('another tag than SEQUENCE');
  if (first === undefined) return undefined;
  if (first < 0x80) return within(2 + first, maxOctets);
  const count = first & 0x7f;
  if (count === 0 || count > 4) throw invalid('a length of unknown form');
  if (bytes.length < 2 + count) return undefined;
  const length = bytes.subarray(2, 2 + count).reduce((sum, octet) => sum * 256 + octet, 0);
  return within(2 + count + length, maxOctets);
}

function within(length: number, maxOctets: number): number {
  if (length > maxOctets) throw invalid('too many octets');
  return length;
}

function invalid(what: string): LdapError {
  return new LdapError('LDAP_MESSAGE_INVALID', `The LDAP message has ${what}`);
}
