import { inflateSync } from 'node:zlib';
import { parseEntity, type MimeEntity } from '../mime/index.ts';
import { readOid } from '../asn1/index.ts';
import { SmimeError } from './errors.ts';
import { oids } from './oids.ts';
import { limits } from './policy.ts';
import { decodeCms, holdsCms } from './smime-entity.ts';
import {
  joinPieces,
  readAlgorithm,
  readContentInfo,
  readFields,
  readingCms,
  readPieces,
} from './structure.ts';

/**
 * The entity inside compressed-data (RFC 8551 §3.5, RFC 3274), undefined if it is none. Nobody has
 * read what stays compressed, so a message must not be confirmed with it.
 *
 * Errors: `SMIME_COMPRESSION_UNSUPPORTED` (also for one inside another), `SMIME_COMPRESSED_TOO_LARGE`,
 * `SMIME_CMS_MALFORMED`, `SMIME_TRAILING_DATA`, `SMIME_TRANSFER_ENCODING_INVALID`; those of lib/mime.
 */
export function decompressEntity(entity: MimeEntity): Uint8Array | undefined {
  const compressed = findCompressed(entity);
  if (compressed === undefined) return undefined;
  const inner = decompress(compressed);
  if (findCompressed(parseEntity(inner)) !== undefined)
    throw new SmimeError('SMIME_COMPRESSION_UNSUPPORTED', 'compressed data inside compressed data');
  return inner;
}

function findCompressed(entity: MimeEntity): Uint8Array | undefined {
  if (!holdsCms(entity)) return undefined;
  const cms = decodeCms(entity);
  const says = entity.contentType.parameters.get('smime-type')?.toLowerCase() === 'compressed-data';
  return says || contentTypeOf(cms) === oids.compressedData ? cms : undefined;
}

function contentTypeOf(cms: Uint8Array): string | undefined {
  try {
    return readContentInfo(cms).contentType;
  } catch (error) {
    if (error instanceof SmimeError) return undefined;
    throw error;
  }
}

function decompress(cms: Uint8Array): Uint8Array {
  const { contentType, content } = readContentInfo(cms);
  if (contentType !== oids.compressedData)
    throw new SmimeError('SMIME_CMS_MALFORMED', `content type ${contentType} instead of compressed-data`);
  const deflated = readingCms(() => {
    const fields = readFields(content);
    fields.take(); // version: 0
    const { oid } = readAlgorithm(fields.take());
    if (oid !== oids.zlibCompression)
      throw new SmimeError('SMIME_COMPRESSION_UNSUPPORTED', `compression ${oid}`);
    const encapsulated = readFields(fields.take());
    const innerType = readOid(encapsulated.take());
    const wrapper = encapsulated.takeContext(0);
    const [value, ...rest] = wrapper?.children ?? [];
    if (innerType !== oids.data || value === undefined || rest.length > 0)
      throw new SmimeError('SMIME_CMS_MALFORMED', 'compressed content that is not data');
    return joinPieces(readPieces(value));
  });
  try {
    return inflateSync(deflated, { maxOutputLength: limits.decompressedBytes });
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw isTooLarge
      ? new SmimeError('SMIME_COMPRESSED_TOO_LARGE', `content over ${limits.decompressedBytes} bytes`)
      : new SmimeError('SMIME_CMS_MALFORMED', 'the compressed content cannot be read');
  }
}
