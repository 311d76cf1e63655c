import { PkiError, readCertificate, readCertificates, type Certificate } from '../pki/index.ts';

/**
 * The certificate, or none if it cannot be read: an unreadable certificate from outside must not keep the
 * others from being tried.
 */
export function findCertificate(der: Uint8Array): Certificate[] {
  return tryRead(() => [readCertificate(der)]);
}

/**
 * The end-entity certificates of one value of an LDAP attribute: a certificate, or a set
 * (`userSMIMECertificate`, RFC 2798 §2.8).
 */
export function findPublishedCertificates(value: Uint8Array): Certificate[] {
  const [certificate] = findCertificate(value);
  if (certificate !== undefined) return [certificate];
  const set = tryRead(() => readCertificates(value, { first: maxSetCertificates, onUnreadable: () => {} }));
  return set.filter(({ isCa }) => !isCa);
}

/** A person's certificates and those of the CAs above. */
const maxSetCertificates = 16;

function tryRead(read: () => Certificate[]): Certificate[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof PkiError) return [];
    throw error;
  }
}
