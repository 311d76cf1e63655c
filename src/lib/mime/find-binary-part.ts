import { inspectBytes } from './inspect-bytes.ts';
import { parseEntity, type MimeEntity } from './mime-entity.ts';

/** Messages attached to messages that are looked into. */
const maxNesting = 10;

/**
 * The media type of the first part that `canonicalize` would damage: not text, sent as binary (RFC 2045 §6.2)
 * or holding NUL, with a CR or LF that stands alone. Undefined if there is none. Throws what
 * `MimeEntity.parts` throws.
 */
export function findDamagedPart(entity: MimeEntity, nesting = 0): string | undefined {
  const { mediaType, type } = entity.contentType;
  if (entity.parts.length > 0) return findFirst(entity.parts, (part) => findDamagedPart(part, nesting));
  const { transferEncoding } = entity;
  if (type === 'text' || transferEncoding === 'base64' || transferEncoding === 'quoted-printable')
    return undefined;
  if (mediaType === 'message/rfc822' && nesting < maxNesting)
    return findDamagedPart(parseEntity(entity.bodyBytes), nesting + 1);
  const { bareLineEnds, hasNul } = inspectBytes(entity.bodyBytes);
  return bareLineEnds > 0 && (hasNul || transferEncoding === 'binary') ? mediaType : undefined;
}

function findFirst<Item, Found>(
  items: readonly Item[],
  find: (item: Item) => Found | undefined,
): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
