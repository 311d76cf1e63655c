import type { MimeEntity } from '../mime/index.ts';

const cmsTypes: ReadonlySet<string> = new Set(['application/pkcs7-mime', 'application/x-pkcs7-mime']);
const signatureTypes: ReadonlySet<string> = new Set([
  'application/pkcs7-signature',
  'application/x-pkcs7-signature',
]);

/**
 * A part that holds CMS content: by its media type (RFC 8551 §3.2; the x- forms are those of older agents, AS-72), or by the
 * file name of a part without a telling type (RFC 8551 §3.2.1).
 */
export function holdsCms(entity: MimeEntity): boolean {
  return cmsTypes.has(entity.contentType.mediaType) || isNamedFile(entity, '.p7m');
}

/** A part that holds a detached signature, recognised in the same ways. */
export function holdsSignature(entity: MimeEntity): boolean {
  return signatureTypes.has(entity.contentType.mediaType) || isNamedFile(entity, '.p7s');
}

function isNamedFile({ contentType, disposition }: MimeEntity, ending: string): boolean {
  if (contentType.mediaType !== 'application/octet-stream') return false;
  const name = disposition?.parameters.get('filename') ?? contentType.parameters.get('name') ?? '';
  return name.toLowerCase().endsWith(ending);
}
