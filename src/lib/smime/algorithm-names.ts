import { oids } from './oids.ts';

/** Algorithms that this module refuses or does not know, as operators call them. */
const names: ReadonlyMap<string, string> = new Map([
  [oids.desCbc, 'DES'],
  [oids.tripleDesCbc, '3DES'],
  [oids.rc2Cbc, 'RC2'],
  ['1.2.840.113549.3.4', 'RC4'],
  ['1.2.840.113533.7.66.10', 'CAST-128'],
  ['1.2.392.200011.61.1.1.1.2', 'Camellia-128'],
  ['1.2.392.200011.61.1.1.1.3', 'Camellia-192'],
  ['1.2.392.200011.61.1.1.1.4', 'Camellia-256'],
  ['1.2.840.113549.1.9.16.3.18', 'ChaCha20-Poly1305'],
  ['1.2.840.113549.2.2', 'MD2'],
  ['1.3.36.3.2.1', 'RIPEMD-160'],
  ['2.16.840.1.101.3.4.2.4', 'SHA-224'],
  ['2.16.840.1.101.3.4.2.5', 'SHA-512/224'],
  ['2.16.840.1.101.3.4.2.6', 'SHA-512/256'],
  ['2.16.840.1.101.3.4.2.8', 'SHA3-256'],
  ['2.16.840.1.101.3.4.2.9', 'SHA3-384'],
  ['2.16.840.1.101.3.4.2.10', 'SHA3-512'],
  ['2.16.840.1.101.3.4.2.12', 'SHAKE256'],
  ['1.2.840.10040.4.1', 'DSA'],
  ['1.2.840.10040.4.3', 'DSA with SHA-1'],
  ['2.16.840.1.101.3.4.3.2', 'DSA with SHA-256'],
  ['1.3.101.112', 'Ed25519'],
  ['1.3.101.113', 'Ed448'],
]);

/** `3DES (1.2.840.113549.3.7)`, or the identifier alone. */
export function describeAlgorithm(oid: string): string {
  const name = names.get(oid);
  return name === undefined ? oid : `${name} (${oid})`;
}
