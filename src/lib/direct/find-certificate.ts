import { PkiError, readCertificate, type Certificate } from '../pki/index.ts';

/** The certificate, or none if it cannot be read: an unreadable certificate from outside must not keep the others from being tried. */
export function findCertificate(der: Uint8Array): Certificate[] {
  try {
    return [readCertificate(der)];
  } catch (error) {
    if (error instanceof PkiError) return [];
    throw error;
  }
}
