import { decodeBody, MimeError, parseEntity, type MimeEntity } from '../mime/index.ts';
import { SmimeError } from './errors.ts';

const cmsTypes: ReadonlySet<string> = new Set(['application/pkcs7-mime', 'application/x-pkcs7-mime']);
const signatureTypes: ReadonlySet<string> = new Set([
  'application/pkcs7-signature',
  'application/x-pkcs7-signature',
]);

/**
 * A part that holds CMS content: by its media type (RFC 8551 §3.2; the x- forms are those of older agents,
 * AS-72), or by the file name of a part without a telling type (RFC 8551 §3.2.1).
 */
export function holdsCms(entity: MimeEntity): boolean {
  return cmsTypes.has(entity.contentType.mediaType) || isNamedFile(entity, '.p7m');
}

/** A part that holds a detached signature, recognized in the same ways. */
export function holdsSignature(entity: MimeEntity): boolean {
  return signatureTypes.has(entity.contentType.mediaType) || isNamedFile(entity, '.p7s');
}

/** Values of `smime-type` for content that is not enveloped (RFC 8551 §3.2.2). */
const openTypes: ReadonlySet<string> = new Set(['signed-data', 'certs-only', 'compressed-data']);

/**
 * True if a message with this header section can be an encrypted one for `decryptEntity` (AS-71). A header
 * that cannot be read belongs to none.
 */
export function announcesEnvelope(header: Uint8Array): boolean {
  try {
    const entity = parseEntity(header);
    const type = entity.contentType.parameters.get('smime-type')?.toLowerCase() ?? '';
    return holdsCms(entity) && !openTypes.has(type);
  } catch (error) {
    if (error instanceof MimeError) return false;
    throw error;
  }
}

function isNamedFile({ contentType, disposition }: MimeEntity, ending: string): boolean {
  if (contentType.mediaType !== 'application/octet-stream') return false;
  const name = disposition?.parameters.get('filename') ?? contentType.parameters.get('name') ?? '';
  return name.toLowerCase().endsWith(ending);
}

const decodedEncodings: ReadonlySet<string> = new Set(['base64', 'quoted-printable']);
/** Any CMS structure in base64 begins so: a SEQUENCE of indefinite length or of more than 127 bytes. */
const base64Cms = /^\s*M[IQ][A-Za-z0-9+/\s]{30}/;

/**
 * The CMS bytes of an entity. Errors: `SMIME_TRANSFER_ENCODING_INVALID` for base64 that is labeled otherwise
 * (RFC 2045 §6.4: an unknown encoding is not decoded).
 */
export function decodeCms(entity: MimeEntity): Buffer {
  const bytes = decodeBody(entity);
  const { transferEncoding } = entity;
  if (!decodedEncodings.has(transferEncoding) && base64Cms.test(bytes.toString('latin1', 0, 100))) {
    throw new SmimeError(
      'SMIME_TRANSFER_ENCODING_INVALID',
      'the body is base64, which its Content-Transfer-Encoding does not say',
    );
  }
  return bytes;
}
