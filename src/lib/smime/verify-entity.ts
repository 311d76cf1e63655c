import { isUtf8 } from 'node:buffer';
import { viewAsBuffer } from '../../core/index.ts';
import { type MimeEntity, parseEntity } from '../mime/index.ts';
import type { Certificate } from '../pki/index.ts';
import { SmimeError, type SmimeErrorCode } from './errors.ts';
import type { CryptoPolicy } from './policy.ts';
import { decodeCms, holdsCms, holdsSignature } from './smime-entity.ts';
import { joinPieces } from './structure.ts';
import { type VerifiedCms, verifyCms, type VerifyCmsOptions } from './verify-cms.ts';
import type { SignerResult } from './verify-signer.ts';

export interface VerifiedEntity {
  /** The signed MIME entity, exactly the bytes that were signed. */
  readonly entity: Uint8Array;
  /** Every readable certificate of the message, none of them trusted. */
  readonly certificates: readonly Certificate[];
  /** In the order of the message; at least one is valid. */
  readonly signers: readonly SignerResult[];
  readonly form: 'detached' | 'opaque';
}

/**
 * Verifies a multipart/signed entity (RFC 8551 §3.5.3) or an opaque signed-data one (§3.5.2) and gives the
 * bytes that its valid signers signed. Throws unless at least one signer is valid; nothing is said here about
 * trust.
 *
 * `isAuthenticated`: nobody can have changed the content since it was encrypted (AES-GCM), so bytes that no
 * signature covers may be any.
 *
 * Errors: `SMIME_NOT_SIGNED` (AS-71), `SMIME_MULTIPART_SIGNED_MALFORMED`, `SMIME_UNSIGNED_NOT_TEXT`, and
 * those of `verifyCms`; those of lib/mime.
 */
export function verifyEntity(
  content: Uint8Array | MimeEntity,
  policy?: CryptoPolicy,
  { isAuthenticated = false }: { readonly isAuthenticated?: boolean } = {},
): VerifiedEntity {
  const entity = content instanceof Uint8Array ? parseEntity(content) : content;
  const options = policy && { policy };
  if (entity.contentType.mediaType === 'multipart/signed') {
    const [signed, signature] = readSignedParts(entity);
    if (!isAuthenticated) checkUnsignedBytes(entity, signed, signature);
    return { ...verifyDetached(signed.bytes, signature, options), form: 'detached' };
  }
  if (!holdsCms(entity)) throw new SmimeError('SMIME_NOT_SIGNED', 'the entity is not signed');
  if (!isAuthenticated) checkUnsignedBytes(entity);
  const { content: pieces, certificates, signers } = verifySigned(entity, options);
  return { entity: joinPieces(pieces), certificates, signers, form: 'opaque' };
}

/**
 * A signature over the content as it came, or, where the content has bare LF, over its canonical form with
 * CRLF (RFC 8551 §3.1.1), which is then what was signed.
 */
function verifyDetached(
  content: Uint8Array,
  signature: MimeEntity,
  options: VerifyCmsOptions | undefined,
): Omit<VerifiedEntity, 'form'> {
  const verifyAs = (entity: Uint8Array): Omit<VerifiedEntity, 'form'> => {
    const { certificates, signers } = verifySigned(signature, { ...options, content: entity });
    return { entity, certificates, signers };
  };
  try {
    return verifyAs(content);
  } catch (error) {
    const isOfContent = error instanceof SmimeError && contentFaults.has(error.code);
    const canonical = isOfContent ? withCanonicalLineEnds(content) : undefined;
    if (canonical === undefined) throw error;
    try {
      return verifyAs(canonical);
    } catch {
      throw error;
    }
  }
}

const contentFaults: ReadonlySet<SmimeErrorCode> = new Set([
  'SMIME_DIGEST_MISMATCH',
  'SMIME_SIGNATURE_INVALID',
]);

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/** With CRLF for each bare LF; undefined if there is none. */
function withCanonicalLineEnds(content: Uint8Array): Uint8Array | undefined {
  const isBare = (at: number): boolean => content[at] === lineFeed && content[at - 1] !== carriageReturn;
  let count = 0;
  for (let at = content.indexOf(lineFeed); at !== -1; at = content.indexOf(lineFeed, at + 1))
    if (isBare(at)) count++;
  if (count === 0) return undefined;
  const canonical = Buffer.allocUnsafe(content.length + count);
  let to = 0;
  for (let at = 0; at < content.length; at++) {
    if (isBare(at)) canonical[to++] = carriageReturn;
    canonical[to++] = content[at] ?? 0;
  }
  return canonical;
}

/** RFC 1847 §2.1: exactly two parts, the second one the signature. */
function readSignedParts(entity: MimeEntity): readonly [MimeEntity, MimeEntity] {
  const [signed, signature, ...rest] = entity.parts;
  if (signed === undefined || signature === undefined || rest.length > 0) {
    throw new SmimeError('SMIME_MULTIPART_SIGNED_MALFORMED', 'multipart/signed without exactly two parts');
  }
  if (!holdsSignature(signature)) {
    throw new SmimeError(
      'SMIME_MULTIPART_SIGNED_MALFORMED',
      `a signature of type ${signature.contentType.mediaType}`,
    );
  }
  return [signed, signature];
}

/** CMS of another type proves no sender: an envelope inside an envelope, or in the place of a signature. */
function verifySigned(entity: MimeEntity, options: VerifyCmsOptions | undefined): VerifiedCms {
  try {
    return verifyCms(decodeCms(entity), options);
  } catch (error) {
    if (!(error instanceof SmimeError) || error.code !== 'SMIME_CONTENT_TYPE_UNEXPECTED') throw error;
    throw new SmimeError('SMIME_NOT_SIGNED', 'the CMS content is not signed data', { cause: error });
  }
}

/**
 * Returns only if everything in a signed entity that no signature covers is text: its header, what stands
 * around the parts, and the signature in base64.
 *
 * Whoever has a message in CBC mode can repeat and move blocks of it, and so learn from acceptance what is in
 * them, though the signed bytes stay as they are: each such change makes a block of random bytes, which is
 * text with a probability of about 2^-20, two blocks of about 2^-40 (RFC 8551 §6; SEC-14). Errors:
 * `SMIME_UNSIGNED_NOT_TEXT`.
 */
function checkUnsignedBytes(entity: MimeEntity, signed?: MimeEntity, signature = entity): void {
  const { bytes } = entity;
  // Where the whole is encoded, the parts are not views on it, and their places are unknown.
  const isEncoded = isTextEncoding(entity);
  const covered = signed === undefined || isEncoded ? [] : [signed.bytes];
  const binary = isEncoded || isTextEncoding(signature) ? [] : [signature.bodyBytes];
  let from = 0;
  for (const part of [...covered, ...binary]) {
    requireText(bytes.subarray(from, part.byteOffset - bytes.byteOffset));
    from = part.byteOffset - bytes.byteOffset + part.length;
  }
  requireText(bytes.subarray(from));
}

function isTextEncoding({ transferEncoding }: MimeEntity): boolean {
  return transferEncoding === 'base64' || transferEncoding === 'quoted-printable';
}

/** Of a large body, looked at in turn: its string would be as large. */
const chunkBytes = 65_536;
const control = /[^\P{Cc}\t\r\n\u0080-\u009f]/u;

function requireText(bytes: Uint8Array): void {
  const view = viewAsBuffer(bytes);
  let isText = isUtf8(view);
  for (let at = 0; isText && at < view.length; at += chunkBytes)
    isText = !control.test(view.toString('latin1', at, at + chunkBytes));
  if (!isText) throw new SmimeError('SMIME_UNSIGNED_NOT_TEXT', 'bytes that no signature covers are not text');
}
