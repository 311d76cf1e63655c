import type { FieldProblem } from '../../../core/index.ts';
import {
  collectParts,
  decodeText,
  decodeWords,
  findBodyText,
  hasRepeatedField,
  hasUnreadWord,
  toPlainLine,
  type MessagePart,
  type MimeEntity,
  type PartFault,
} from '../../../lib/mime/index.ts';

/** A received message, divided into what a person reads and what it carries. */
export interface ReadParts {
  readonly subject: string;
  readonly body: MessagePart | undefined;
  /**
   * All other parts, in order; behind them the body once more as it came, if it could not be read as its
   * sender says.
   */
  readonly attachments: readonly LoosePart[];
  readonly warnings: readonly PartWarning[];
}

/** What was not read as its sender may have meant it. Names a field of the payload, never its value. */
export interface PartWarning extends FieldProblem {
  /** The attachment that it is of, if it is of one. */
  readonly attachment?: MessagePart;
}

export interface LoosePart {
  readonly part: MessagePart;
  /** True for what belongs to the text: an image in it, the text in another form, its octets. */
  readonly isInline: boolean;
  /** True for the octets of the body. */
  readonly isBody: boolean;
}

/** Throws MimeError of limits. Cheap also for a large message: only texts are decoded. */
export function readParts(entity: MimeEntity): ReadParts {
  const leaves = collectParts(entity);
  const body = findBodyText(entity, leaves);
  const bodyFaults = body?.faults() ?? [];
  const rest = leaves.filter((leaf) => leaf !== body);
  const isOfText = createInlineTest(entity, leaves, body);
  const loose = rest.map((part) => ({ part, isInline: isOfText(part), isBody: false }));
  const original =
    body !== undefined && bodyFaults.some(isUnread) ? [{ part: body, isInline: true, isBody: true }] : [];
  const subject = entity.header('subject') ?? '';
  return {
    subject: toPlainLine(decodeWords(subject)),
    body,
    attachments: [...loose, ...original],
    warnings: [
      ...(hasUnreadWord(subject) ? [toWarning('messageSubject', 'unknown-charset')] : []),
      ...(hasRepeatedStructure(entity) ? [toWarning('emailAttachmentList', 'repeated-field')] : []),
      ...bodyFaults.map((fault) => toWarning('messageBody', fault)),
      ...rest.flatMap((part) =>
        part
          .faults()
          .filter((fault) => !isUnread(fault))
          .map((fault) => ({ ...toWarning('emailAttachmentList', fault), attachment: part })),
      ),
    ],
  };
}

/** A fault of the decoded text, which an attachment does not have: its octets are given. */
function isUnread(fault: PartFault): boolean {
  return fault === 'unknown-charset' || fault === 'invalid-octets';
}

const details: Readonly<Record<PartFault, string>> = {
  'unknown-charset': 'The character set that the sender names is unknown; the text is a guess.',
  'invalid-octets': 'Some octets do not fit the character set that the sender names.',
  'unknown-encoding': 'The transfer encoding that the sender names is unknown; the octets are as they came.',
  'not-encoded':
    'The content is not in the transfer encoding that the sender names; the octets are as they came.',
  'text-after-base64': 'Text behind the encoded content, as gateways add it, is not part of it.',
  'repeated-field':
    'A header field that describes it is there twice with different values; the first counts.',
  'stray-line-end':
    'A header field that describes it holds characters that some programs take for line ends.',
};

function toWarning(field: string, fault: PartFault): FieldProblem {
  return { field, reason: fault.replaceAll('-', '_'), detail: details[fault] };
}

/** Of a multipart, whose parts depend on its type; those of the leaves are told with them. */
function hasRepeatedStructure(entity: MimeEntity): boolean {
  if (entity.parts.length === 0) return false;
  return hasRepeatedField(entity) || entity.parts.some(hasRepeatedStructure);
}

/**
 * An image counts as one of the text if an HTML text shows it, wherever it stands: senders also put documents
 * into multipart/related.
 */
function createInlineTest(
  entity: MimeEntity,
  leaves: readonly MessagePart[],
  body: MessagePart | undefined,
): (part: MessagePart) => boolean {
  const alternatives = body === undefined ? [] : findAlternatives(entity, body.entity);
  const images = leaves.filter(
    ({ contentId, entity: own }) => contentId !== undefined && own.contentType.type === 'image',
  );
  const pages =
    images.length === 0 ? [] : leaves.filter(({ isText, mediaType }) => isText && mediaType === 'text/html');
  const shown = new Set(pages.flatMap((page) => listShown(page.text())));
  return (part) =>
    (part.isText && alternatives.includes(part.entity)) ||
    (images.includes(part) && shown.has(part.contentId?.toLowerCase() ?? ''));
}

function listShown(html: string): string[] {
  return [...html.matchAll(/\bcid:([^"'\s>)]{1,400})/gi)].map(([, id = '']) => {
    const plain = id.replaceAll('&amp;', '&').replaceAll('&#64;', '@');
    const bytes = Buffer.from(
      plain.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    );
    return decodeText(bytes).text.toLowerCase();
  });
}

/** The entities in the multipart/alternative around the text. */
function findAlternatives(entity: MimeEntity, text: MimeEntity): MimeEntity[] {
  const leaves = listEntities(entity);
  if (!leaves.includes(text)) return [];
  if (entity.contentType.subtype === 'alternative') return leaves;
  return entity.parts.flatMap((part) => findAlternatives(part, text));
}

function listEntities(entity: MimeEntity): MimeEntity[] {
  return entity.parts.length === 0 ? [entity] : entity.parts.flatMap(listEntities);
}
