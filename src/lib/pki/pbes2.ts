import { createDecipheriv, pbkdf2Sync } from 'node:crypto';
import { childAt, readOctetString, readOid, readSmallInteger, type Asn1 } from '../asn1/index.ts';
import { PkiError } from './errors.ts';

const pbes2 = '1.2.840.113549.1.5.13';
const pbkdf2 = '1.2.840.113549.1.5.12';

/** Pseudo-random functions of PBKDF2 by OID; HMAC with SHA-1 is the default (PKCS #5 version 2.1). */
const prfDigests: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
};

const ciphers: Readonly<Record<string, { name: string; keyBytes: number }>> = {
  '2.16.840.1.101.3.4.1.2': { name: 'aes-128-cbc', keyBytes: 16 },
  '2.16.840.1.101.3.4.1.22': { name: 'aes-192-cbc', keyBytes: 24 },
  '2.16.840.1.101.3.4.1.42': { name: 'aes-256-cbc', keyBytes: 32 },
};

/** Limit of the iterations that a file may demand: ten times the number that current tools write. */
export const maxIterations = 1_000_000;

/**
 * Decrypts data encrypted by PBES2 (PKCS #5 version 2.1): PBKDF2 and AES-CBC. Errors:
 * `PKI_PKCS12_UNSUPPORTED` for the older schemes (RC2, Triple DES) and unknown ones, `PKI_PKCS12_PASSWORD`.
 */
export function decryptPbes2(algorithm: Asn1, encrypted: Uint8Array, password: string): Buffer {
  if (readOid(childAt(algorithm, 0)) !== pbes2) throw unsupported('an encryption older than PBES2');
  const parameters = childAt(algorithm, 1);
  const [keyScheme, cipherScheme] = [childAt(parameters, 0), childAt(parameters, 1)];
  const cipher = ciphers[readOid(childAt(cipherScheme, 0))];
  if (cipher === undefined) throw unsupported('a cipher other than AES-CBC');
  const key = deriveKey(keyScheme, password, cipher.keyBytes);
  try {
    const decipher = createDecipheriv(cipher.name, key, readOctetString(childAt(cipherScheme, 1)));
    return Buffer.concat([decipher.update(encrypted), decipher.final()]);
  } catch {
    throw new PkiError('PKI_PKCS12_PASSWORD', 'the password does not match the file');
  }
}

function deriveKey(scheme: Asn1, password: string, keyBytes: number): Buffer {
  if (readOid(childAt(scheme, 0)) !== pbkdf2) throw unsupported('a key derivation other than PBKDF2');
  const [salt, iterations, ...rest] = childAt(scheme, 1).children;
  if (salt === undefined || iterations === undefined)
    throw unsupported('a key derivation without parameters');
  const count = readSmallInteger(iterations);
  if (count < 1 || count > maxIterations) throw unsupported(`${count} iterations`);
  const prf = rest.find((part) => part.children.length > 0);
  const digest = prfDigests[prf === undefined ? '1.2.840.113549.2.7' : readOid(childAt(prf, 0))];
  if (digest === undefined) throw unsupported('an unknown pseudo-random function');
  return pbkdf2Sync(Buffer.from(password, 'utf8'), readOctetString(salt), count, keyBytes, digest);
}

function unsupported(what: string): PkiError {
  return new PkiError('PKI_PKCS12_UNSUPPORTED', `PKCS#12 with ${what}`);
}
