import { der } from '../asn1/index.ts';

/** `(attribute=*)`. */
export function presentFilter(attribute: string): Buffer {
  return der.implicit(7, false, Buffer.from(attribute, 'utf8'));
}

/** Where certificates are: RFC 4523 §2.1, and RFC 2798 §2.8, whose values are certificate sets (PKCS #7). */
export const certificateAttributes = [
  'userCertificate;binary',
  'userCertificate',
  'userSMIMECertificate;binary',
  'userSMIMECertificate',
] as const;

/**
 * `(&(mail=…)(|(userCertificate;binary=*)(userCertificate=*)…))` (DISC-08). The value goes into its own
 * field, so that it cannot be interpreted as a filter.
 */
export function discoveryFilter(mail: string): Buffer {
  const byMail = der.implicit(3, true, text('mail'), text(mail));
  const withCertificate = der.implicit(1, true, ...certificateAttributes.map(presentFilter));
  return der.implicit(0, true, byMail, withCertificate);
}

function text(value: string): Buffer {
  return der.octetString(Buffer.from(value, 'utf8'));
}
