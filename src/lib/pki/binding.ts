import { addressKey, domainOf, type DirectAddress } from '../values/index.ts';
import type { Certificate } from './certificate.ts';

/** The kind of name by which a certificate is bound to an address (AS-10). */
export type Binding = 'address' | 'domain';

const ascii = /^[\x21-\x7e]+$/;

/**
 * Returns whether subjectAltName binds the certificate to the address: an rfc822Name equal to the whole
 * address, or a dNSName equal to its domain, both without regard to case (AS-02, AS-10). Parent domains,
 * wildcards and the subject's emailAddress do not bind (AS-11, AS-12). Says nothing about trust.
 */
export function isBoundTo(certificate: Certificate, address: DirectAddress): Binding | undefined {
  // Outside ASCII, lower case can make two names equal that are not (the Kelvin sign becomes k).
  if (!ascii.test(address)) return undefined;
  const key = addressKey(address);
  if (certificate.rfc822Names.some((name) => name.toLowerCase() === key)) return 'address';
  const domain = domainOf(address);
  return certificate.dnsNames.some((name) => name.toLowerCase() === domain) ? 'domain' : undefined;
}
