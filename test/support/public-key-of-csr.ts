import { createPublicKey, type KeyObject } from 'node:crypto';
import { childAt, encodedBytes, readAsn1 } from '../../src/lib/asn1/index.ts';

/** The key that a certification request (PKCS #10, DER) asks a certificate for, as a CA reads it. */
export function publicKeyOfCsr(csr: Uint8Array): KeyObject {
  const spki = encodedBytes(childAt(childAt(readAsn1(csr), 0), 2));
  return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
}
