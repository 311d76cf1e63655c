import { describeAlgorithm } from './algorithm-names.ts';
import { childAt, readOctetString, readSmallInteger, type Asn1 } from '../asn1/index.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import type { CryptoPolicy } from './policy.ts';
import { malformed, type Algorithm } from './structure.ts';

export type ContentCipherName = keyof typeof ciphers | 'des-ede3-cbc';

export interface ContentCipher {
  readonly name: ContentCipherName;
  readonly mode: 'cbc' | 'gcm';
  readonly keyBytes: number;
  readonly iv: Uint8Array;
  /** GCM only. */
  readonly tagBytes: number;
}

export const ciphers = {
  'aes-128-cbc': { oid: oids.aes128Cbc, mode: 'cbc', keyBytes: 16 },
  'aes-192-cbc': { oid: oids.aes192Cbc, mode: 'cbc', keyBytes: 24 },
  'aes-256-cbc': { oid: oids.aes256Cbc, mode: 'cbc', keyBytes: 32 },
  'aes-128-gcm': { oid: oids.aes128Gcm, mode: 'gcm', keyBytes: 16 },
  'aes-192-gcm': { oid: oids.aes192Gcm, mode: 'gcm', keyBytes: 24 },
  'aes-256-gcm': { oid: oids.aes256Gcm, mode: 'gcm', keyBytes: 32 },
} as const;

type CipherRow = {
  readonly name: ContentCipherName;
  readonly mode: 'cbc' | 'gcm';
  readonly keyBytes: number;
};

const tripleDes: CipherRow = { name: 'des-ede3-cbc', mode: 'cbc', keyBytes: 24 };
const rows = new Map<string, CipherRow>(
  Object.entries(ciphers).map(([name, row]) => [row.oid, { ...row, name: name as keyof typeof ciphers }]),
);

/**
 * Errors: `SMIME_CONTENT_CIPHER_NOT_ALLOWED`, `SMIME_CONTENT_CIPHER_UNSUPPORTED`, `SMIME_CMS_MALFORMED`,
 * those of lib/asn1.
 */
export function readContentCipher(
  algorithm: Algorithm,
  isAuthenticated: boolean,
  policy: CryptoPolicy,
): ContentCipher {
  const row = findCipher(algorithm.oid, policy);
  if ((row.mode === 'gcm') !== isAuthenticated) {
    throw new SmimeError('SMIME_CONTENT_CIPHER_UNSUPPORTED', `${row.name} in the wrong kind of envelope`);
  }
  if (algorithm.parameters === undefined) throw malformed('a content cipher without parameters');
  return {
    ...row,
    ...(row.mode === 'gcm' ? readGcm(algorithm.parameters) : readCbc(algorithm.parameters, row)),
  };
}

function findCipher(oid: string, policy: CryptoPolicy): CipherRow {
  if (oid === oids.rc2Cbc || oid === oids.desCbc || (oid === oids.tripleDesCbc && !policy.allowsTripleDes)) {
    throw new SmimeError(
      'SMIME_CONTENT_CIPHER_NOT_ALLOWED',
      `content cipher ${describeAlgorithm(oid)} is too weak`,
    );
  }
  const row = oid === oids.tripleDesCbc ? tripleDes : rows.get(oid);
  if (row === undefined)
    throw new SmimeError('SMIME_CONTENT_CIPHER_UNSUPPORTED', `content cipher ${describeAlgorithm(oid)}`);
  return row;
}

/** RFC 3565 §4.1: the parameter is the initialization vector, one block long. */
function readCbc(parameters: Asn1, { name }: CipherRow): { iv: Uint8Array; tagBytes: number } {
  const iv = readOctetString(parameters);
  if (iv.length !== blockBytesOf(name)) throw malformed('an initialization vector of the wrong length');
  return { iv, tagBytes: 0 };
}

/**
 * RFC 5084 §3.2: nonce, and the length of the tag with 12 as default. Shorter tags are not allowed there
 * either.
 */
function readGcm(parameters: Asn1): { iv: Uint8Array; tagBytes: number } {
  const iv = readOctetString(childAt(parameters, 0));
  const length = parameters.children[1];
  const tagBytes = length === undefined ? 12 : readSmallInteger(length);
  if (iv.length === 0 || iv.length > 64 || tagBytes < 12 || tagBytes > 16) throw malformed('GCM parameters');
  return { iv, tagBytes };
}

export function blockBytesOf(name: ContentCipherName): number {
  return name === 'des-ede3-cbc' ? 8 : 16;
}
