import { parseEntity, type MimeEntity } from '../mime/index.ts';
import type { Certificate } from '../pki/index.ts';
import { checkUnsignedBytes } from './check-unsigned-bytes.ts';
import { SmimeError } from './errors.ts';
import type { CryptoPolicy } from './policy.ts';
import { decodeCms, holdsCms, holdsSignature } from './smime-entity.ts';
import { joinPieces } from './structure.ts';
import { verifyCms, type VerifiedCms, type VerifyCmsOptions } from './verify-cms.ts';
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
 * Verifies a multipart/signed entity (RFC 8551 §3.5.3) or an opaque signed-data one (§3.5.2) and gives the bytes that its valid
 * signers signed. Throws unless at least one signer is valid; nothing is said here about trust.
 *
 * `isAuthenticated`: nobody can have changed the content since it was encrypted (AES-GCM), so bytes that no signature covers may be any.
 *
 * Errors: `SMIME_NOT_SIGNED` (AS-71), `SMIME_MULTIPART_SIGNED_MALFORMED`, `SMIME_UNSIGNED_NOT_TEXT`, and those of `verifyCms`; those of lib/mime.
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
    const { certificates, signers } = verifySigned(signature, { ...options, content: signed.bytes });
    return { entity: signed.bytes, certificates, signers, form: 'detached' };
  }
  if (!holdsCms(entity)) throw new SmimeError('SMIME_NOT_SIGNED', 'the entity is not signed');
  if (!isAuthenticated) checkUnsignedBytes(entity);
  const { content: pieces, certificates, signers } = verifySigned(entity, options);
  return { entity: joinPieces(pieces), certificates, signers, form: 'opaque' };
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
