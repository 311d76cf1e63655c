import { decodeBody, readText } from './decode-body.ts';
import { decodeWords } from './encoded-words.ts';
import type { MimeEntity } from './mime-entity.ts';

/** One leaf of a message, as an edge client wants it. */
export interface MessagePart {
  readonly entity: MimeEntity;
  readonly mediaType: string;
  /** Last path component only, without control characters; absent if the sender gave none. */
  readonly fileName?: string;
  /** Content-Description, decoded. */
  readonly title?: string;
  /** Without angle brackets. */
  readonly contentId?: string;
  /** True for text/plain and text/html that is meant to be read in place: not an attachment, no file name. */
  readonly isText: boolean;
  /** The bytes, transfer encoding removed; decoded again at each call. */
  content(): Buffer;
  text(): string;
}

/** The leaves of a message in order (AS-80). An attached message/rfc822 is one leaf. Throws what `MimeEntity.parts` throws. */
export function collectParts(entity: MimeEntity): MessagePart[] {
  const leaves: MessagePart[] = [];
  addParts(entity, leaves);
  return leaves;
}

function addParts(entity: MimeEntity, leaves: MessagePart[]): void {
  if (entity.parts.length === 0) leaves.push(describePart(entity));
  else for (const part of entity.parts) addParts(part, leaves);
}

function describePart(entity: MimeEntity): MessagePart {
  const { mediaType } = entity.contentType;
  const fileName = readFileName(entity);
  const title = decodeWords(entity.header('content-description') ?? '').trim();
  const contentId = (entity.header('content-id') ?? '').replace(/^\s*<|>\s*$/g, '').trim();
  const isReadable = mediaType === 'text/plain' || mediaType === 'text/html';
  return {
    entity,
    mediaType,
    ...(fileName === '' ? {} : { fileName }),
    ...(title === '' ? {} : { title }),
    ...(contentId === '' ? {} : { contentId }),
    isText: isReadable && fileName === '' && entity.disposition?.value !== 'attachment',
    content: () => decodeBody(entity),
    text: () => readText(entity),
  };
}

/** The sender's file name, cleaned; empty if there is none. */
function readFileName(entity: MimeEntity): string {
  return cleanFileName(
    entity.disposition?.parameters.get('filename') ?? entity.contentType.parameters.get('name') ?? '',
  );
}

/**
 * A foreign file name without directories, control characters and marks that turn the direction of writing; 255 characters
 * at most. Empty if nothing is left.
 */
export function cleanFileName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const clean = last
    .replace(/[\p{Cc}\p{Bidi_Control}]/gu, '')
    .trim()
    .slice(0, 255);
  return clean === '.' || clean === '..' ? '' : clean;
}

/** The first text part of a message that is meant to be read: text/plain, else text/html; undefined if there is none. */
export function findBodyText(parts: readonly MessagePart[]): MessagePart | undefined {
  const readable = parts.filter((part) => part.isText);
  return readable.find((part) => part.mediaType === 'text/plain') ?? readable[0];
}
