import { parseEntity, type MimeEntity } from '../mime/index.ts';
import { decryptCms, type DecryptedCms, type DecryptionKey } from './decrypt-cms.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import type { CryptoPolicy } from './policy.ts';
import { decodeCms, holdsCms, holdsSignature } from './smime-entity.ts';

/**
 * Decrypts a message whose body is an envelope (RFC 8551 §3.3), whatever its transfer encoding and with or
 * without smime-type. The content is a MIME entity that nothing vouches for yet.
 *
 * Errors: `SMIME_NOT_ENCRYPTED` for any other entity (AS-71), `SMIME_PARTLY_ENCRYPTED` for one of which only
 * a part is an envelope, `SMIME_CONTENT_TYPE_UNEXPECTED` for content that is not plain data, and those of
 * `decryptCms`; those of lib/mime.
 */
export function decryptEntity(
  message: Uint8Array | MimeEntity,
  keys: readonly DecryptionKey[],
  policy?: CryptoPolicy,
): DecryptedCms {
  const entity = message instanceof Uint8Array ? parseEntity(message) : message;
  if (!holdsCms(entity)) {
    if (entity.parts.some(holdsCms))
      throw new SmimeError('SMIME_PARTLY_ENCRYPTED', 'an encrypted part has other parts next to it');
    const what =
      holdsSignature(entity) || entity.contentType.subtype === 'signed' ? 'signed only' : 'in the clear';
    throw new SmimeError('SMIME_NOT_ENCRYPTED', `the message is ${what}`);
  }
  const cms = decodeCms(entity);
  // Decoding has made a copy, unless the body was not encoded.
  const mayOverwrite = cms.buffer !== entity.bytes.buffer;
  const decrypted = decryptCms(cms, keys, policy, { mayOverwrite });
  if (decrypted.contentType !== oids.data) {
    throw new SmimeError(
      'SMIME_CONTENT_TYPE_UNEXPECTED',
      `encrypted content of type ${decrypted.contentType}`,
    );
  }
  return decrypted;
}
