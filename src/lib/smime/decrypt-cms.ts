import { randomBytes, type KeyObject } from 'node:crypto';
import { equalSecrets } from '../../core/index.ts';
import type { Certificate } from '../pki/index.ts';
import { describeReference, refersTo, type CertificateReference } from './certificate-reference.ts';
import { readContentCipher, type ContentCipher, type ContentCipherName } from './content-cipher.ts';
import { decryptCbc, decryptGcm, type DecryptedContent } from './decrypt-content.ts';
import { readEnvelopedData, type EnvelopedData } from './enveloped-data.ts';
import { SmimeError } from './errors.ts';
import { readKeyAgreement } from './key-agreement.ts';
import { readKeyTransport, type KeyOpener } from './key-transport.ts';
import { defaultCryptoPolicy, limits, type CryptoPolicy } from './policy.ts';
import type { Recipient } from './recipient-info.ts';
import { readingCms } from './structure.ts';

/** A certificate that messages can be encrypted to, and the private key of its public key. */
export interface DecryptionKey {
  readonly certificate: Certificate;
  readonly privateKey: KeyObject;
}

export interface DecryptOptions {
  /** The caller does not need the given bytes any more: the content may overwrite them. */
  readonly mayOverwrite?: boolean;
}

export interface DecryptedCms {
  readonly content: Buffer;
  /** The OID of the content's type. */
  readonly contentType: string;
  readonly contentAlgorithm: ContentCipherName;
  /** `oaep-sha256`, `oaep-sha256-mgf1-sha1`, `pkcs1`, `ecdh-sha256` … */
  readonly keyTransport: string;
  /** The key that decrypted it. */
  readonly key: DecryptionKey;
  /** Fingerprints of the given certificates whose keys decrypt it, that of `key` first. */
  readonly openedBy: readonly string[];
  /** Every recipient that the envelope names, except those without a certificate reference. */
  readonly recipients: readonly CertificateReference[];
}

/**
 * Decrypts EnvelopedData or AuthEnvelopedData with one of the keys that it is encrypted to (AS-83).
 *
 * Wrong keys, wrong padding and altered content all end in `SMIME_DECRYPTION_FAILED` after the work that a
 * good envelope takes: a content key that cannot be decrypted is replaced by a random one (RFC 3218 §2.3.2,
 * AS-56). Other errors depend only on public data: `SMIME_NO_RECIPIENT_KEY`,
 * `SMIME_KEY_MANAGEMENT_UNSUPPORTED`, `SMIME_CONTENT_CIPHER_NOT_ALLOWED`,
 * `SMIME_CONTENT_CIPHER_UNSUPPORTED`, and those of reading.
 */
export function decryptCms(
  cms: Uint8Array,
  keys: readonly DecryptionKey[],
  policy: CryptoPolicy = defaultCryptoPolicy,
  options: DecryptOptions = {},
): DecryptedCms {
  const envelope = readEnvelopedData(cms);
  const { cipher, openers } = readingCms(() => ({
    cipher: readContentCipher(envelope.contentAlgorithm, envelope.authentication !== undefined, policy),
    openers: findOpeners(envelope.recipients, keys),
  }));
  const found = tryAll(envelope, cipher, openers.slice(0, limits.decryptionAttempts), options);
  if (!found.isIntact) {
    const failure = new SmimeError('SMIME_DECRYPTION_FAILED', 'the content could not be decrypted');
    if (found.content !== undefined) remains.set(failure, found.content);
    throw failure;
  }
  const { content, openedBy, opening } = found;
  const recipients = envelope.recipients.flatMap((recipient) =>
    recipient.kind === 'other' ? [] : [recipient.reference],
  );
  return {
    content,
    contentType: envelope.contentType,
    contentAlgorithm: cipher.name,
    keyTransport: opening.opener.keyTransport,
    key: opening.key,
    openedBy,
    recipients,
  };
}

/** Not in the error itself, which is logged. */
const remains = new WeakMap<object, Uint8Array>();

/**
 * The bytes that a failed decryption has left. Nothing may come of them: they are for doing with them what is
 * done with content, so that a failure takes as long as content that is refused. Undefined for other errors.
 */
export function findRemains(error: object): Uint8Array | undefined {
  return remains.get(error);
}

type Tried =
  | { readonly isIntact: false; readonly content: Buffer | undefined }
  | {
      readonly isIntact: true;
      readonly content: Buffer;
      readonly opening: Opening;
      readonly openedBy: readonly string[];
    };

/**
 * The first opening that decrypts the content. All are tried, whatever comes of each: an envelope may name
 * one key many times, and to stop at the first that works would tell by the time whether its padding was
 * right.
 */
function tryAll(
  envelope: EnvelopedData,
  cipher: ContentCipher,
  openings: readonly Opening[],
  options: DecryptOptions,
): Tried {
  const contentKeys = openings.map(({ opener, key }) => contentKeyOf(opener, key, cipher));
  let left: Buffer | undefined;
  let intact:
    | { readonly content: Buffer; readonly opening: Opening; readonly contentKey: Uint8Array }
    | undefined;
  for (const [index, opening] of openings.entries()) {
    // Only the last attempt may overwrite the encrypted bytes.
    const isDisposable = options.mayOverwrite === true && index === openings.length - 1;
    const contentKey = contentKeys[index] ?? noKey;
    const decrypted = decryptContent(envelope, cipher, contentKey, isDisposable);
    if (decrypted?.isIntact === true) intact ??= { content: decrypted.bytes, opening, contentKey };
    else left = decrypted?.bytes;
  }
  if (intact === undefined) return { isIntact: false, content: left };
  const { content, opening, contentKey } = intact;
  // An envelope may name a certificate although its key cannot decrypt it.
  const able = openings.filter((_, index) => equalSecrets(contentKeys[index] ?? noKey, contentKey));
  const openedBy = [opening, ...able].map(({ key }) => key.certificate.fingerprint);
  return { isIntact: true, content, opening, openedBy: [...new Set(openedBy)] };
}

const noKey = new Uint8Array();

interface Opening {
  readonly key: DecryptionKey;
  readonly opener: KeyOpener;
}

function findOpeners(recipients: readonly Recipient[], keys: readonly DecryptionKey[]): Opening[] {
  const openings: Opening[] = [];
  let isAddressed = false;
  for (const recipient of recipients) {
    if (recipient.kind === 'other') continue;
    for (const key of keys) {
      if (!refersTo(recipient.reference, key.certificate)) continue;
      isAddressed = true;
      const opener = readOpener(recipient, key);
      if (opener !== undefined) openings.push({ key, opener });
    }
  }
  if (openings.length > 0) return openings;
  throw isAddressed
    ? new SmimeError(
        'SMIME_KEY_MANAGEMENT_UNSUPPORTED',
        'the key management of the envelope is not supported',
      )
    : new SmimeError('SMIME_NO_RECIPIENT_KEY', describeRecipients(recipients));
}

/** Whom the envelope is encrypted to, for the operator who has to find out why it is not one of the keys. */
function describeRecipients(recipients: readonly Recipient[]): string {
  const named = recipients.flatMap((one) => (one.kind === 'other' ? [] : [one.reference]));
  const [first] = named;
  if (first === undefined) return 'the envelope names no certificate that it is encrypted to';
  const more = named.length > 1 ? ` and ${named.length - 1} more` : '';
  return `the envelope is encrypted to ${describeReference(first)}${more}, and to none of the keys`;
}

function readOpener(
  recipient: Exclude<Recipient, { kind: 'other' }>,
  { certificate }: DecryptionKey,
): KeyOpener | undefined {
  if (recipient.kind === 'agreement') return readKeyAgreement(recipient, certificate);
  return certificate.keyType === 'rsa' ? readKeyTransport(recipient) : undefined;
}

function contentKeyOf(opener: KeyOpener, { privateKey }: DecryptionKey, cipher: ContentCipher): Uint8Array {
  const substitute = randomBytes(cipher.keyBytes);
  const found = opener.open(privateKey);
  return found?.length === cipher.keyBytes ? found : substitute;
}

function decryptContent(
  { encryptedContent: pieces, authentication }: EnvelopedData,
  cipher: ContentCipher,
  contentKey: Uint8Array,
  isDisposable: boolean,
): DecryptedContent | undefined {
  const content = { pieces, isDisposable };
  if (authentication === undefined) return decryptCbc(cipher, contentKey, content);
  return decryptGcm(cipher, contentKey, content, authentication);
}
