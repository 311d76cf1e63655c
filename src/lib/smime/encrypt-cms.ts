import { randomBytes } from 'node:crypto';
import { der } from '../asn1/index.ts';
import { ciphers } from './content-cipher.ts';
import { SmimeError } from './errors.ts';
import { writeTransportRecipient, type EnvelopeRecipient } from './key-transport.ts';
import { oids } from './oids.ts';
import { releaseMemory } from './release-memory.ts';
import { startEncryption, type SendingCipher } from './start-encryption.ts';
import { lengthOf, type Pieces } from './structure.ts';

export interface EncryptOptions {
  /**
   * Default AES-256-CBC (AS-53). The GCM modes make AuthEnvelopedData, which many peers cannot read (AS-54).
   */
  readonly contentCipher?: SendingCipher;
}

/** An envelope whose size is known before its content is encrypted. */
export interface Envelope {
  readonly sizeBytes: number;
  /**
   * Encrypts and hands out the whole CMS structure in order, in DER. To be called once; a chunk is valid only
   * during the call.
   */
  write(use: (chunk: Uint8Array) => void): void;
}

/**
 * Plain bytes encrypted at once: whole cipher blocks and, in base64, whole lines; all that is made of them
 * fits a processor's cache.
 */
const chunkBytes = 57 * 1024;

/**
 * EnvelopedData (or AuthEnvelopedData) in DER, one RecipientInfo per recipient (RFC 5652 §6, AS-41).
 *
 * Errors: `SMIME_NO_RECIPIENTS`, `SMIME_RECIPIENT_KEY_NOT_ALLOWED`, `SMIME_RECIPIENT_KEY_USAGE`. One unusable
 * recipient fails the whole: who calls decides beforehand who can be reached.
 */
export function prepareEnvelope(
  content: Pieces,
  recipients: readonly EnvelopeRecipient[],
  options: EncryptOptions = {},
): Envelope {
  if (recipients.length === 0) throw new SmimeError('SMIME_NO_RECIPIENTS', 'no recipient to encrypt to');
  const name = options.contentCipher ?? 'aes-256-cbc';
  const { keyBytes, mode } = ciphers[name];
  const contentKey = randomBytes(keyBytes);
  const infos = recipients.map((recipient) => writeTransportRecipient(recipient, contentKey));
  const encryption = startEncryption(
    name,
    contentKey,
    randomBytes(mode === 'gcm' ? 12 : 16),
    lengthOf(content),
  );
  const suffixBytes = mode === 'gcm' ? 18 : 0;
  const head = writeHead(infos, encryption.algorithm, encryption.sizeBytes, mode === 'gcm', suffixBytes);
  return {
    sizeBytes: head.length + encryption.sizeBytes + suffixBytes,
    write: (use) => {
      use(head);
      for (const piece of content) {
        for (let at = 0; at < piece.length; at += chunkBytes) {
          const encrypted = encryption.update(piece.subarray(at, at + chunkBytes));
          use(encrypted);
          releaseMemory(encrypted);
        }
      }
      use(encryption.finish());
      if (mode === 'gcm') use(der.octetString(encryption.tag()));
    },
  };
}

/**
 * Everything before the encrypted bytes; written from the inside out, since outer lengths depend on inner
 * ones.
 */
function writeHead(
  infos: readonly Uint8Array[],
  algorithm: Uint8Array,
  contentBytes: number,
  isGcm: boolean,
  suffixBytes: number,
): Buffer {
  const content = Buffer.concat([der.oid(oids.data), algorithm, der.header(0x80, contentBytes)]);
  const encrypted = Buffer.concat([der.header(0x30, content.length + contentBytes), content]);
  const body = Buffer.concat([der.integer(0), der.set(...infos), encrypted]);
  const bodyBytes = body.length + contentBytes + suffixBytes;
  const data = Buffer.concat([der.header(0x30, bodyBytes), body]);
  const rest = contentBytes + suffixBytes;
  const wrapped = Buffer.concat([der.header(0xa0, data.length + rest), data]);
  const type = der.oid(isGcm ? oids.authEnvelopedData : oids.envelopedData);
  return Buffer.concat([der.header(0x30, type.length + wrapped.length + rest), type, wrapped]);
}

/** The same in one buffer. */
export function encryptCms(
  content: Pieces,
  recipients: readonly EnvelopeRecipient[],
  options?: EncryptOptions,
): Buffer {
  const envelope = prepareEnvelope(content, recipients, options);
  const target = Buffer.allocUnsafe(envelope.sizeBytes);
  let written = 0;
  envelope.write((chunk) => {
    target.set(chunk, written);
    written += chunk.length;
  });
  return target;
}
