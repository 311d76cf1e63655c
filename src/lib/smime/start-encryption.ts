import { createCipheriv, createSecretKey, type CipherGCMTypes } from 'node:crypto';
import { der } from '../asn1/index.ts';
import { ciphers } from './content-cipher.ts';

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
  // Node takes 10 µs longer for bare bytes.
  const secret = createSecretKey(key);
  if (mode === 'gcm') {
    const cipher = createCipheriv(name as CipherGCMTypes, secret, iv, { authTagLength: 16 });
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
  const cipher = createCipheriv(name, secret, iv);
  return {
    algorithm: der.sequence(der.oid(oid), der.octetString(iv)),
    sizeBytes: (Math.floor(plainBytes / 16) + 1) * 16,
    update: (bytes) => cipher.update(bytes),
    finish: () => cipher.final(),
    tag: () => new Uint8Array(),
  };
}
