import { constants, privateDecrypt, publicEncrypt, randomBytes, type KeyObject } from 'node:crypto';
import { der } from '../asn1/index.ts';
import type { Certificate } from '../pki/index.ts';
import { readOaep, writeOaep, type OaepParameters } from './algorithms.ts';
import { writeIssuerAndSerial } from './certificate-reference.ts';
import type { TransportRecipient } from './recipient-info.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import { limits, minimumSendingRsaBits } from './policy.ts';
import { unwrapOaep } from './unwrap-oaep.ts';
import { withoutStackTraces } from './without-stack-traces.ts';

/** Key transport to one recipient: RSAES-OAEP with one hash for both uses, or RSAES-PKCS1-v1_5. */
export type KeyTransport = 'oaep-sha256' | 'oaep-sha1' | 'pkcs1';

export interface EnvelopeRecipient {
  readonly certificate: Certificate;
  /** Default `oaep-sha256` (AS-57). */
  readonly keyTransport?: KeyTransport;
}

/** A way to get at a content key: a name for reports, and the operation. */
export interface KeyOpener {
  readonly keyTransport: string;
  /** The content key, or undefined or any bytes at all if something is wrong. */
  open(privateKey: KeyObject): Uint8Array | undefined;
}

/** Undefined for algorithms that are not supported. Errors: those of lib/asn1. */
export function readKeyTransport({ algorithm, encryptedKey }: TransportRecipient): KeyOpener | undefined {
  if (algorithm.oid === oids.rsaEncryption) {
    return {
      keyTransport: 'pkcs1',
      // OpenSSL answers bad padding with pseudo-random bytes that depend on the ciphertext alone (implicit
      // rejection).
      open: (key) => decryptQuietly({ key, padding: constants.RSA_PKCS1_PADDING }, encryptedKey),
    };
  }
  const parameters = algorithm.oid === oids.rsaOaep ? readOaep(algorithm.parameters) : undefined;
  return (
    parameters && { keyTransport: nameOf(parameters), open: (key) => openOaep(key, parameters, encryptedKey) }
  );
}

function nameOf({ digest, maskDigest }: OaepParameters): string {
  return digest === maskDigest ? `oaep-${digest}` : `oaep-${digest}-mgf1-${maskDigest}`;
}

function openOaep(
  key: KeyObject,
  parameters: OaepParameters,
  encryptedKey: Uint8Array,
): Uint8Array | undefined {
  const { digest, maskDigest, label } = parameters;
  if (digest === maskDigest) return decryptQuietly({ key, oaepHash: digest, oaepLabel: label }, encryptedKey);
  const encoded = decryptQuietly({ key, padding: constants.RSA_NO_PADDING }, encryptedKey);
  return encoded && unwrapOaep(encoded, parameters);
}

/** Whatever is wrong looks the same to the caller. */
function decryptQuietly(
  options: Parameters<typeof privateDecrypt>[0],
  bytes: Uint8Array,
): Buffer | undefined {
  try {
    return withoutStackTraces(() => privateDecrypt(options, bytes));
  } catch {
    return undefined;
  }
}

/**
 * KeyTransRecipientInfo for one certificate, by issuer and serial number.
 * Errors: `SMIME_RECIPIENT_KEY_NOT_ALLOWED` (not RSA, or below 2048 bits), `SMIME_RECIPIENT_KEY_USAGE`.
 */
export function writeTransportRecipient(
  { certificate, keyTransport }: EnvelopeRecipient,
  contentKey: Uint8Array,
): Buffer {
  checkRecipient(certificate);
  const { algorithm, encryptedKey } = tryTransport(certificate, keyTransport ?? 'oaep-sha256', contentKey);
  return der.sequence(
    der.integer(0),
    writeIssuerAndSerial(certificate),
    algorithm,
    der.octetString(encryptedKey),
  );
}

/** Certificates for whose keys an encryption has succeeded, which does not change. */
const reachable = new WeakSet<Certificate>();

/**
 * Returns only if a content key can be encrypted to the certificate: a caller that seals for several
 * recipients checks each first, so that one bad certificate does not fail the message for the others. Errors:
 * `SMIME_RECIPIENT_KEY_NOT_ALLOWED`, `SMIME_RECIPIENT_KEY_USAGE`.
 */
export function checkEnvelopeRecipient(certificate: Certificate): void {
  if (reachable.has(certificate)) return;
  writeTransportRecipient({ certificate }, randomBytes(32));
  reachable.add(certificate);
}

/** OpenSSL has its own rules about keys; its errors are translated, so that none leaves without a code. */
function tryTransport(certificate: Certificate, name: KeyTransport, contentKey: Uint8Array): Transported {
  try {
    return withoutStackTraces(() => transport(certificate.publicKey, name, contentKey));
  } catch (error) {
    throw keyNotAllowed(`nothing can be encrypted to the key of ${certificate.subject}`, error);
  }
}

interface Transported {
  readonly algorithm: Buffer;
  readonly encryptedKey: Buffer;
}

function checkRecipient({ publicKeyAlgorithmOid, keyBits, keyFault, keyUsage, subject }: Certificate): void {
  if (publicKeyAlgorithmOid !== oids.rsaEncryption || keyBits < minimumSendingRsaBits)
    throw keyNotAllowed(`the key of ${subject} is not RSA of at least 2048 bits`);
  if (keyBits > limits.rsaBits) throw keyNotAllowed(`the key of ${subject} has ${keyBits} bits`);
  if (keyFault !== undefined) throw keyNotAllowed(`the key of ${subject} is an RSA key with ${keyFault}`);
  if (keyUsage !== undefined && !keyUsage.has('keyEncipherment')) {
    throw new SmimeError('SMIME_RECIPIENT_KEY_USAGE', `the certificate of ${subject} is not for encryption`);
  }
}

function keyNotAllowed(text: string, cause?: unknown): SmimeError {
  return new SmimeError('SMIME_RECIPIENT_KEY_NOT_ALLOWED', text, { cause });
}

function transport(key: KeyObject, name: KeyTransport, contentKey: Uint8Array): Transported {
  if (name === 'pkcs1') {
    const algorithm = der.sequence(der.oid(oids.rsaEncryption), der.null());
    return {
      algorithm,
      encryptedKey: publicEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, contentKey),
    };
  }
  const digest = name === 'oaep-sha1' ? 'sha1' : 'sha256';
  const algorithm = Buffer.from(writeOaep(digest));
  return { algorithm, encryptedKey: publicEncrypt({ key, oaepHash: digest }, contentKey) };
}
