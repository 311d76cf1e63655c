import { createCipheriv, createDecipheriv, type CipherGCMTypes } from 'node:crypto';
import { childAt, der, readOctetString, readSmallInteger, type Asn1 } from '../asn1/index.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import type { CryptoPolicy } from './policy.ts';
import { lengthOf, malformed, type Algorithm, type Pieces } from './structure.ts';

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

/** Errors: `SMIME_CONTENT_CIPHER_NOT_ALLOWED`, `SMIME_CONTENT_CIPHER_UNSUPPORTED`, `SMIME_CMS_MALFORMED`, those of lib/asn1. */
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
    throw new SmimeError('SMIME_CONTENT_CIPHER_NOT_ALLOWED', `content cipher ${oid} is too weak`);
  }
  const row = oid === oids.tripleDesCbc ? tripleDes : rows.get(oid);
  if (row === undefined) throw new SmimeError('SMIME_CONTENT_CIPHER_UNSUPPORTED', `content cipher ${oid}`);
  return row;
}

/** RFC 3565 §4.1: the parameter is the initialization vector, one block long. */
function readCbc(parameters: Asn1, { name }: CipherRow): { iv: Uint8Array; tagBytes: number } {
  const iv = readOctetString(parameters);
  if (iv.length !== blockBytes(name)) throw malformed('an initialization vector of the wrong length');
  return { iv, tagBytes: 0 };
}

/** RFC 5084 §3.2: nonce, and the length of the tag with 12 as default. Shorter tags are not allowed there either. */
function readGcm(parameters: Asn1): { iv: Uint8Array; tagBytes: number } {
  const iv = readOctetString(childAt(parameters, 0));
  const length = parameters.children[1];
  const tagBytes = length === undefined ? 12 : readSmallInteger(length);
  if (iv.length === 0 || iv.length > 64 || tagBytes < 12 || tagBytes > 16) throw malformed('GCM parameters');
  return { iv, tagBytes };
}

function blockBytes(name: ContentCipherName): number {
  return name === 'des-ede3-cbc' ? 8 : 16;
}

/** Encrypted bytes, and where their plain text may go. */
export interface EncryptedContent {
  readonly pieces: Pieces;
  /** True if the plain text may take the place of the encrypted bytes, which saves a large message a third copy of itself. */
  readonly isDisposable: boolean;
}

/**
 * Decrypts CBC content and takes its padding off (RFC 5652 §6.3). Undefined whatever is wrong, without saying what.
 */
export function decryptCbc(
  cipher: ContentCipher,
  key: Uint8Array,
  content: EncryptedContent,
): Buffer | undefined {
  const block = blockBytes(cipher.name);
  const sizeBytes = lengthOf(content.pieces);
  if (sizeBytes === 0 || sizeBytes % block !== 0) return undefined;
  const decipher = createDecipheriv(cipher.name, key, cipher.iv).setAutoPadding(false);
  const padded = updateAll((bytes) => decipher.update(bytes), content);
  const paddingBytes = readPadding(padded, block);
  return paddingBytes === 0 ? undefined : padded.subarray(0, sizeBytes - paddingBytes);
}

/** The length of the padding, 0 if it is none. */
function readPadding(padded: Buffer, block: number): number {
  const length = padded.at(-1) ?? 0;
  let difference = length === 0 || length > block ? 1 : 0;
  for (let index = 1; index <= block; index++) {
    const byte = padded[padded.length - index] ?? 0;
    difference |= index <= length ? byte ^ length : 0;
  }
  return difference === 0 ? length : 0;
}

/** Decrypts GCM content (RFC 5084). Undefined unless the tag is right, without saying what was wrong. */
export function decryptGcm(
  cipher: ContentCipher,
  key: Uint8Array,
  content: EncryptedContent,
  authentication: { readonly tag: Uint8Array; readonly additionalData: Uint8Array },
): Buffer | undefined {
  if (authentication.tag.length !== cipher.tagBytes) return undefined;
  const decipher = createDecipheriv(cipher.name as CipherGCMTypes, key, cipher.iv, {
    authTagLength: cipher.tagBytes,
  });
  decipher.setAuthTag(authentication.tag);
  decipher.setAAD(authentication.additionalData);
  const plain = updateAll((bytes) => decipher.update(bytes), content);
  try {
    decipher.final();
    return plain;
  } catch {
    return undefined;
  }
}

/** Runs the pieces through a cipher whose output is as long as its input. */
function updateAll(
  update: (bytes: Uint8Array) => Buffer,
  { pieces, isDisposable }: EncryptedContent,
): Buffer {
  const target = chooseTarget(pieces, isDisposable);
  let written = 0;
  gather(pieces, (chunk) => {
    const output = update(chunk);
    target.set(output, written);
    written += output.length;
  });
  return target.subarray(0, written);
}

/** All pieces lie in one structure in ascending order, so that what is written stays behind what is read. */
function chooseTarget(pieces: Pieces, isDisposable: boolean): Buffer {
  const [first] = pieces;
  const sizeBytes = lengthOf(pieces);
  if (!isDisposable || first === undefined) return Buffer.allocUnsafe(sizeBytes);
  return Buffer.from(first.buffer, first.byteOffset, sizeBytes);
}

/** Bytes that a cipher takes at once: many enough that calls cost nothing, few enough for the processor's cache. */
const chunkBytes = 64 * 1024;

/** Hands on the same bytes in chunks of a good size; small pieces are joined in one that is valid only during the call. */
function gather(pieces: Pieces, use: (chunk: Uint8Array) => void): void {
  const joined = pieces.length > 1 ? Buffer.allocUnsafe(chunkBytes) : Buffer.alloc(0);
  let filled = 0;
  for (const piece of pieces) {
    let at = 0;
    while (at < piece.length) {
      const isWhole = filled === 0 && piece.length - at >= joined.length;
      const part = piece.subarray(at, at + chunkBytes - filled);
      at += part.length;
      if (isWhole) {
        use(part);
        continue;
      }
      joined.set(part, filled);
      filled += part.length;
      if (filled === chunkBytes) {
        use(joined);
        filled = 0;
      }
    }
  }
  if (filled > 0) use(joined.subarray(0, filled));
}

/** A cipher at work on content to be sent. */
export interface ContentEncryption {
  readonly algorithm: Uint8Array;
  readonly sizeBytes: number;
  update(bytes: Uint8Array): Uint8Array;
  /** The last bytes of the content; to be called once. */
  finish(): Uint8Array;
  /** GCM only, after `finish`. */
  tag(): Uint8Array;
}

export type SendingCipher = keyof typeof ciphers;

export function startEncryption(
  name: SendingCipher,
  key: Uint8Array,
  iv: Uint8Array,
  plainBytes: number,
): ContentEncryption {
  const { oid, mode } = ciphers[name];
  if (mode === 'gcm') {
    const cipher = createCipheriv(name as CipherGCMTypes, key, iv, { authTagLength: 16 });
    const parameters = der.sequence(der.octetString(iv), der.integer(16));
    const algorithm = der.sequence(der.oid(oid), parameters);
    return {
      algorithm,
      sizeBytes: plainBytes,
      update: (bytes) => cipher.update(bytes),
      finish: () => cipher.final(),
      tag: () => cipher.getAuthTag(),
    };
  }
  const cipher = createCipheriv(name, key, iv);
  return {
    algorithm: der.sequence(der.oid(oid), der.octetString(iv)),
    sizeBytes: (Math.floor(plainBytes / 16) + 1) * 16,
    update: (bytes) => cipher.update(bytes),
    finish: () => cipher.final(),
    tag: () => new Uint8Array(),
  };
}
