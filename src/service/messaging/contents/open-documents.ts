import {
  parseEntity,
  readDate,
  readMessageIds,
  withExtension,
  type MessagePart,
} from '../../../lib/mime/index.ts';
import type { FieldProblem } from '../../../core/index.ts';
import { packReceived, unpackReceived, type Arranged } from './received-xdm.ts';
import type { InboundContent, InboundDocument, OpenOptions, PackageWarning } from './inbound-document.ts';
import { readParts, type LoosePart, type ReadParts } from './read-parts.ts';

/**
 * Decodes a received message. With `isXdm` a package comes as it was received, and loose documents come
 * packed; without, packages come unpacked into their documents (XDM-12, Decision 0014). A package that cannot
 * be unpacked stays as it is (AS-81).
 */
export async function openDocuments(
  inner: Uint8Array,
  { facts, isXdm, identity }: OpenOptions,
): Promise<InboundContent> {
  const entity = parseEntity(inner);
  const parts = readParts(entity);
  const { subject, body } = parts;
  const loose = parts.attachments.map(toDocument);
  const context = { facts, subject, sentAt: readDate(entity.header('date') ?? ''), identity };
  const arranged = isXdm ? await packReceived(loose, context) : await unpackReceived(loose);
  const { documents, holdsPackage } = arranged;
  return {
    subject,
    body: body?.text() ?? '',
    bodyType: body?.mediaType ?? '',
    directContext: readContentId(entity.header('x-direct-context')),
    isXdm: holdsPackage,
    documents,
    warnings: listWarnings(parts, loose, arranged),
  };
}

/** The damage of packages that the payload without `isXdm` tells of, for the audit trail and the MDN. */
export async function findDamage(inner: Uint8Array): Promise<readonly PackageWarning[]> {
  const { attachments } = readParts(parseEntity(inner));
  return (await unpackReceived(attachments.map(toDocument))).damage;
}

function listWarnings(
  { attachments, warnings }: ReadParts,
  loose: readonly InboundDocument[],
  { documents, damage }: Arranged,
): FieldProblem[] {
  const ofParts = warnings.map(({ attachment, field, ...warning }) => {
    // A document inside a package is no attachment of the message.
    const at = attachments.findIndex(({ part, isBody }) => part === attachment && !isBody);
    const position = at < 0 ? -1 : documents.findIndex((document) => document === loose[at]);
    return { field: position < 0 ? field : `${field}[${position}]`, ...warning };
  });
  return [...ofParts, ...damage.map(({ field, reason, detail }) => ({ field, reason, detail }))];
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

function toDocument({ part, isInline, isBody }: LoosePart, index: number): InboundDocument {
  const fallback = withExtension(isBody ? 'message-body' : `attachment-${index + 1}`, part.mediaType);
  return {
    mediaType: part.mediaType,
    charset: readCharset(part),
    content: part.content(),
    fileName: part.fileName ?? fallback,
    title: part.title ?? '',
    contentId: readContentId(part.contentId),
    isInline,
    typeCode: '',
    typeCodeText: '',
  };
}
