import {
  collectParts,
  findBodyText,
  parseEntity,
  decodeWords,
  readDate,
  readMessageIds,
  type MessagePart,
} from '../../../lib/mime/index.ts';
import { packReceived, unpackReceived } from './received-xdm.ts';
import type { InboundContent, InboundDocument, OpenOptions } from './inbound-document.ts';

/**
 * Decodes a received message. With `isXdm` a package comes as it was received, and loose documents come packed; without,
 * packages come unpacked into their documents (XDM-12, Decision 0014). A package that cannot be unpacked stays as it is (AS-81).
 */
export async function openDocuments(
  inner: Uint8Array,
  { facts, isXdm, identity }: OpenOptions,
): Promise<InboundContent> {
  const entity = parseEntity(inner);
  const leaves = collectParts(entity);
  const bodyPart = findBodyText(leaves);
  const subject = decodeWords(entity.header('subject') ?? '').trim();
  const loose = leaves.filter((leaf) => leaf !== bodyPart).map(toDocument);
  const context = { facts, subject, sentAt: readDate(entity.header('date') ?? ''), identity };
  const { documents, holdsPackage } = isXdm
    ? await packReceived(loose, context)
    : await unpackReceived(loose);
  const directContext = readContentId(entity.header('x-direct-context'));
  return { subject, body: bodyPart?.text() ?? '', directContext, isXdm: holdsPackage, documents };
}

const maxContentIdLength = 400;

/** Without angle brackets. */
function readContentId(value = ''): string {
  const [id = ''] = readMessageIds(value);
  return id.slice(1, -1).slice(0, maxContentIdLength);
}

/** The name of a charset as it can be written into a header without change (RFC 2045 §5.1). */
const charsetForm = /^[A-Za-z0-9!#$%&'+^_`{}~.:-]{1,40}$/;

function readCharset({ entity }: MessagePart): string {
  const charset = entity.contentType.parameters.get('charset') ?? '';
  return charsetForm.test(charset) ? charset : '';
}

function toDocument(part: MessagePart, index: number): InboundDocument {
  return {
    mediaType: part.mediaType,
    charset: readCharset(part),
    content: part.content(),
    fileName: part.fileName ?? `attachment-${index + 1}`,
    title: part.title ?? '',
    contentId: readContentId(part.contentId),
    typeCode: '',
    typeCodeText: '',
  };
}
