import { ValueError } from './errors.ts';

declare const brand: unique symbol;

/** A Direct address `local@domain` as it was written, case kept. Example: `Bob.Smith@direct.example.org`. */
export type DirectAddress = string & { readonly [brand]: 'DirectAddress' };

/** Longest local part, in octets (RFC 5321 §4.5.3.1.1). */
const maxLocalPartLength = 64;
/** Longest domain, in octets (RFC 5321 §4.5.3.1.2); a DNS name holds at most 253 (RFC 1035 §3.1). */
const maxDomainLength = 253;

const dotAtom = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?:\.[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/;
const quotedLocalPart = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/;
/** Labels of 1 to 63 signs, the last not a number. */
const qualifiedDomain =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+(?!\d+$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/**
 * Parses an addr-spec without display name or brackets (RFC 5322 §3.4.1, AS-01): an ASCII local part of at
 * most 64 octets, which may be quoted, and a fully qualified domain of at least two labels, not all digits at
 * the end. White space around the address is not accepted. Throws VALUE_DIRECT_ADDRESS_INVALID.
 */
export function parseDirectAddress(text: string): DirectAddress {
  const problem = findProblem(text);
  if (problem !== undefined) throw new ValueError('VALUE_DIRECT_ADDRESS_INVALID', problem);
  return text as DirectAddress;
}

/** The address, or undefined for a text that is none. */
export function findDirectAddress(text: string): DirectAddress | undefined {
  return findProblem(text) === undefined ? (text as DirectAddress) : undefined;
}

function findProblem(text: string): string | undefined {
  const at = text.lastIndexOf('@');
  if (at <= 0) return 'A Direct address has the form local@domain.';
  const localPart = text.slice(0, at);
  if (localPart.length > maxLocalPartLength) return 'The part before the @ is longer than 64 characters.';
  if (!dotAtom.test(localPart) && !quotedLocalPart.test(localPart)) {
    return 'The part before the @ has a character that is not allowed there.';
  }
  return isQualifiedDomain(text.slice(at + 1))
    ? undefined
    : 'The part after the @ is not a fully qualified domain.';
}

/** True for a host name of at least two labels in letters, digits and hyphens, without a final dot. */
export function isQualifiedDomain(text: string): boolean {
  return text.length <= maxDomainLength && qualifiedDomain.test(text);
}

/** The key by which addresses are compared: the whole address in lower case, local part included (AS-02). */
export function addressKey(address: DirectAddress): string {
  return address.toLowerCase();
}

/** The domain in lower case. */
export function domainOf(address: DirectAddress): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}

/** The local part as written. */
export function localPartOf(address: DirectAddress): string {
  return address.slice(0, address.lastIndexOf('@'));
}

/** The name under which DNS holds an address-bound certificate: `@` becomes `.`, dots stay (DISC-02). */
export function addressDnsName(address: DirectAddress): string {
  return `${localPartOf(address)}.${domainOf(address)}`.toLowerCase();
}
