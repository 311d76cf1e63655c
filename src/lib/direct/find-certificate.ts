import { PkiError, readCertificate, type Certificate } from '../pki/index.ts';

/** The certificate, or none if it cannot be read: what an outsider sent must not keep the rest from being tried. */
export function findCertificate(der: Uint8Array): Certificate[] {
  try {
    return [readCertificate(der)];
  } catch (error) {
    if (error instanceof PkiError) return [];
    throw error;
  }
}
