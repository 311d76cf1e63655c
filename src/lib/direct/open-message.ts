import { hash } from 'node:crypto';
import { concatBytes, errorText } from '../../core/index.ts';
import { hasRepeatedField, type MimeEntity, MimeError, parseEntity, unwrapEntity } from '../mime/index.ts';
import { isBoundTo } from '../pki/index.ts';
import {
  decompressEntity,
  decryptEntity,
  type DecryptionKey,
  findRemains,
  type SignerResult,
  SmimeError,
  type SmimeErrorCode,
  type VerifiedEntity,
  verifyEntity,
} from '../smime/index.ts';
import type { DirectAddress } from '../values/index.ts';
import { DirectError, type DirectErrorCode, isCryptoError } from './errors.ts';
import { readRecipients } from './message-addresses.ts';
import { completePolicy, type MessagePolicy } from './policy.ts';

export interface OpenRequest {
  /** The outer message as SMTP delivered it. */
  readonly message: Uint8Array;
  /** Keys of the local recipients, address-bound ones first, retired ones last (AS-83, AS-84). */
  readonly keys: readonly DecryptionKey[];
  readonly policy?: Partial<MessagePolicy>;
  /**
   * Uses only keys whose certificates are bound to one of these addresses; with `visible`, to one of To and
   * Cc of the inner message. Default: every given key, for a caller that has selected them by the envelope.
   */
  readonly recipients?: readonly DirectAddress[] | 'visible';
}

/** One signature on the message; its certificate is not validated yet. */
export type OpenedSigner =
  | {
      readonly outcome: 'valid';
      /** DER. */
      readonly certificate: Uint8Array;
      readonly digestAlgorithm: string;
      readonly signatureAlgorithm: string;
      readonly signingTime?: Date;
    }
  | { readonly outcome: 'invalid'; readonly code: string; readonly text: string };

/** A message with at least one valid signature over `inner`. Plain data: it can be sent to another thread. */
export interface OpenedMessage {
  /** The plain message (RFC 5322). Its header is the authoritative one (AS-75). */
  readonly inner: Uint8Array;
  /** False if the signed entity had no wrapper, so that the header fields come from outside the signature. */
  readonly wasWrapped: boolean;
  /**
   * SHA-256, hex, of what is signed if the header is not: the same under any header that somebody may put on
   * the message. Two genuine messages may have the same short text, so a boundary, which their writer draws
   * anew, must be among what is hashed: that of the signed multipart, else that of the body of
   * multipart/signed. Omitted if there is neither.
   */
  readonly signedHash?: string;
  /** SHA-256, hex, of the signed part if the header is not signed: whatever header it comes under. */
  readonly signedPartHash?: string;
  readonly signers: readonly OpenedSigner[];
  /** DER of every certificate in the message: only candidates for path building. */
  readonly certificates: readonly Uint8Array[];
  readonly algorithms: {
    readonly contentAlgorithm: string;
    readonly keyTransport: string;
  };
  /** Fingerprint of the certificate whose key decrypted it. */
  readonly decryptedBy: string;
  /** The same, and those of the other given certificates whose keys decrypt it. */
  readonly openedBy: readonly string[];
  /** The signed entity as received, signature included, for evidence; omitted if it is larger than an MDN. */
  readonly signed?: Uint8Array;
}

/**
 * Decrypts, verifies the signature and unwraps (AS-70 to AS-77). CPU only; whether the signer may speak for
 * the sender is decided by `verifySender`, and until then nothing of the message may be used (AS-78, SEC-14).
 *
 * Errors: `DIRECT_NOT_ENCRYPTED`, `DIRECT_UNKNOWN_RECIPIENT`, `DIRECT_ENCRYPTION_INVALID`,
 * `DIRECT_ENCRYPTION_NOT_ALLOWED`, `DIRECT_NOT_SIGNED`, `DIRECT_SENDER_CERTIFICATE_MISSING`,
 * `DIRECT_SENDER_CERTIFICATE_UNREADABLE`, `DIRECT_SIGNATURE_INVALID`, `DIRECT_SIGNATURE_NOT_ALLOWED`,
 * `DIRECT_NOT_WRAPPED`, `DIRECT_MESSAGE_MALFORMED`, `DIRECT_POLICY_INVALID`; `reason` is the underlying code.
 */
export function openMessage(request: OpenRequest): OpenedMessage {
  const policy = completePolicy(request.policy);
  return translating(() => {
    const outer = parseEntity(request.message);
    const { recipients } = request;
    if (recipients === 'visible') return openForVisible(outer, request.keys, policy);
    const keys =
      recipients === undefined ? request.keys : request.keys.filter((key) => isKeyOf(key, recipients));
    return openWith(outer, keys, policy);
  });
}

/** The header with the recipients is inside: a key that is bound to none of them is not used. */
function openForVisible(
  outer: MimeEntity,
  keys: readonly DecryptionKey[],
  policy: MessagePolicy,
): OpenedMessage {
  const opened = openWith(outer, keys, policy);
  const inner = parseEntity(opened.inner);
  const used = keys.find(({ certificate }) => certificate.fingerprint === opened.decryptedBy);
  if (used === undefined || isKeyOf(used, readRecipients(inner))) return opened;
  return openForVisible(
    outer,
    keys.filter((key) => key.certificate.fingerprint !== opened.decryptedBy),
    policy,
  );
}

function isKeyOf({ certificate }: DecryptionKey, recipients: readonly DirectAddress[]): boolean {
  return recipients.some((address) => isBoundTo(certificate, address) !== undefined);
}

/** MDNs are a few kilobytes, certificates included. */
const maxEvidenceBytes = 128 * 1024;

function openWith(outer: MimeEntity, keys: readonly DecryptionKey[], policy: MessagePolicy): OpenedMessage {
  const decrypted = decrypt(outer, keys, policy);
  const verified = verifyEntity(decrypted.content, policy.crypto, {
    isAuthenticated: decrypted.contentAlgorithm.endsWith('-gcm'),
  });
  const { inner, wasWrapped, signedPart, nameable } = unwrap(verified, outer, decrypted.content, policy);
  return {
    inner,
    wasWrapped,
    ...(signedPart && { signedPartHash: hash('sha256', signedPart) }),
    ...(nameable && { signedHash: hash('sha256', nameable) }),
    signers: verified.signers.map(openedSigner),
    certificates: verified.certificates.map(({ der }) => der),
    algorithms: {
      contentAlgorithm: decrypted.contentAlgorithm,
      keyTransport: decrypted.keyTransport,
    },
    decryptedBy: decrypted.key.certificate.fingerprint,
    openedBy: decrypted.openedBy,
    ...(decrypted.content.length <= maxEvidenceBytes && { signed: decrypted.content }),
  };
}

/**
 * A failure takes as long as content that is refused: the time must not tell whether the padding was right
 * (AS-56).
 */
function decrypt(
  outer: MimeEntity,
  keys: readonly DecryptionKey[],
  { crypto }: MessagePolicy,
): ReturnType<typeof decryptEntity> {
  try {
    return decryptEntity(outer, keys, crypto);
  } catch (error) {
    const left = error instanceof SmimeError ? findRemains(error) : undefined;
    if (left !== undefined) refuseLike(left, crypto);
    throw error;
  }
}

function refuseLike(left: Uint8Array, crypto: MessagePolicy['crypto']): void {
  try {
    verifyEntity(left, crypto);
  } catch {
    // As expected; the failure to decrypt is what is reported.
  }
}

interface Unwrapped extends Pick<OpenedMessage, 'inner' | 'wasWrapped'> {
  /** What is signed, if the header is not. */
  readonly signedPart?: Uint8Array;
  /** What `signedHash` is of. */
  readonly nameable?: Uint8Array | undefined;
}

function unwrap(
  verified: VerifiedEntity,
  outer: MimeEntity,
  decrypted: Uint8Array,
  policy: MessagePolicy,
): Unwrapped {
  const outermost = parseEntity(verified.entity);
  const decompressed = decompressEntity(outermost);
  const entity = decompressed ?? verified.entity;
  const signed = decompressed === undefined ? outermost : parseEntity(decompressed);
  const inner = unwrapEntity(signed);
  if (hasRepeatedField(signed) && signed.headers('content-type').some(isWrapperType))
    throw new DirectError('DIRECT_MESSAGE_MALFORMED', 'a wrapper with a header field twice that differs');
  if (inner !== undefined) return { inner: withoutCompression(inner), wasWrapped: true };
  if (!policy.acceptUnwrapped)
    throw new DirectError('DIRECT_NOT_WRAPPED', 'the signed entity is not message/rfc822');
  // Some agents sign a whole message without saying so; its own header is then the signed one.
  if (signed.header('from') !== undefined) return { inner: withoutCompression(entity), wasWrapped: false };
  const isMultipart = signed.contentType.mediaType.startsWith('multipart/');
  return {
    inner: withOuterHeader(outer, entity),
    wasWrapped: false,
    signedPart: verified.entity,
    nameable: isMultipart ? verified.entity : findDetachedBody(verified, decrypted),
  };
}

const isWrapperType = (type: string): boolean => /^message\/(?:rfc822|global)\b/i.test(type);

/** A message whose whole content is compressed, with the content in its place. */
function withoutCompression(message: Uint8Array): Uint8Array {
  const entity = parseEntity(message);
  const content = decompressEntity(entity);
  return content === undefined ? message : withOuterHeader(entity, content);
}

/** Without the header: in CBC mode anybody can change the first block of it by the IV, into any text. */
function findDetachedBody({ form }: VerifiedEntity, decrypted: Uint8Array): Uint8Array | undefined {
  return form === 'detached' ? parseEntity(decrypted).bodyBytes : undefined;
}

/**
 * Before the 2021 edition the header was outside and unsigned; the entity contained only its MIME fields
 * (RFC 8551 §3.1).
 */
function withOuterHeader(outer: MimeEntity, entity: Uint8Array): Buffer {
  const isOfMessage = (name: string): boolean => !/^(content-|mime-version$)/i.test(name);
  const fields = outer.headerFields
    .filter((field) => isOfMessage(field.name))
    .map((field) => withLineEnds(field.raw));
  return concatBytes([...fields, Buffer.from('MIME-Version: 1.0\r\n', 'latin1'), entity]);
}

/**
 * Normalizes to CRLF, as in the signed part: a message from a file may have LF, and a header without a body
 * no line end at all.
 */
function withLineEnds(raw: Uint8Array): Uint8Array {
  const text = Buffer.from(raw).toString('latin1');
  return Buffer.from(`${text.replace(/\r?\n$/, '').replaceAll(/\r?\n/g, '\r\n')}\r\n`, 'latin1');
}

function openedSigner(signer: SignerResult): OpenedSigner {
  if (signer.outcome === 'invalid') return { outcome: 'invalid', code: signer.code, text: signer.text };
  const { digestAlgorithm, signatureAlgorithm, signingTime } = signer;
  return {
    outcome: 'valid',
    certificate: signer.certificate.der,
    digestAlgorithm,
    signatureAlgorithm,
    ...(signingTime && { signingTime }),
  };
}

/** Findings of lib/smime in the agent's terms; all others mean that the signature is invalid. */
const codes: Partial<Record<SmimeErrorCode, DirectErrorCode>> = {
  SMIME_NOT_ENCRYPTED: 'DIRECT_NOT_ENCRYPTED',
  SMIME_PARTLY_ENCRYPTED: 'DIRECT_NOT_ENCRYPTED',
  SMIME_NO_RECIPIENT_KEY: 'DIRECT_UNKNOWN_RECIPIENT',
  SMIME_DECRYPTION_FAILED: 'DIRECT_ENCRYPTION_INVALID',
  SMIME_ENCRYPTED_CONTENT_MISSING: 'DIRECT_ENCRYPTION_INVALID',
  SMIME_TOO_MANY_RECIPIENTS: 'DIRECT_ENCRYPTION_INVALID',
  SMIME_CONTENT_TYPE_UNEXPECTED: 'DIRECT_ENCRYPTION_INVALID',
  SMIME_CONTENT_CIPHER_UNSUPPORTED: 'DIRECT_ENCRYPTION_NOT_ALLOWED',
  SMIME_CONTENT_CIPHER_NOT_ALLOWED: 'DIRECT_ENCRYPTION_NOT_ALLOWED',
  SMIME_KEY_MANAGEMENT_UNSUPPORTED: 'DIRECT_ENCRYPTION_NOT_ALLOWED',
  SMIME_NOT_SIGNED: 'DIRECT_NOT_SIGNED',
  SMIME_CERTIFICATES_MISSING: 'DIRECT_SENDER_CERTIFICATE_MISSING',
  SMIME_SIGNER_CERTIFICATE_MISSING: 'DIRECT_SENDER_CERTIFICATE_MISSING',
  SMIME_CERTIFICATE_MALFORMED: 'DIRECT_SENDER_CERTIFICATE_UNREADABLE',
  SMIME_SIGNER_KEY_NOT_ALLOWED: 'DIRECT_SIGNATURE_NOT_ALLOWED',
  SMIME_DIGEST_UNSUPPORTED: 'DIRECT_SIGNATURE_NOT_ALLOWED',
  SMIME_DIGEST_NOT_ALLOWED: 'DIRECT_SIGNATURE_NOT_ALLOWED',
  SMIME_SIGNATURE_ALGORITHM_UNSUPPORTED: 'DIRECT_SIGNATURE_NOT_ALLOWED',
  SMIME_CMS_MALFORMED: 'DIRECT_MESSAGE_MALFORMED',
  SMIME_TRAILING_DATA: 'DIRECT_MESSAGE_MALFORMED',
  SMIME_COMPRESSION_UNSUPPORTED: 'DIRECT_MESSAGE_MALFORMED',
  SMIME_COMPRESSED_TOO_LARGE: 'DIRECT_MESSAGE_MALFORMED',
  SMIME_UNSIGNED_NOT_TEXT: 'DIRECT_UNSIGNED_NOT_TEXT',
  SMIME_TRANSFER_ENCODING_INVALID: 'DIRECT_MESSAGE_MALFORMED',
};

function translating<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof MimeError)
      throw new DirectError('DIRECT_MESSAGE_MALFORMED', errorText(error), { cause: error });
    if (isCryptoError(error))
      throw new DirectError('DIRECT_MESSAGE_MALFORMED', 'a cryptographic operation failed', {
        cause: error,
      });
    if (!(error instanceof SmimeError)) throw error;
    throw new DirectError(codes[error.code] ?? 'DIRECT_SIGNATURE_INVALID', errorText(error), {
      cause: error,
      fields: error.fields,
    });
  }
}
