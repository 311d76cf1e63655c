import {
  collectParts,
  findBodyText,
  parseEntity,
  decodeWords,
  type MessagePart,
} from '../../lib/mime/index.ts';
import type { MessagingParts } from './seams.ts';
import { inboxContext, type InboxEntry } from './inbox-access.ts';
import { packReceived, unpackReceived } from './received-xdm.ts';

/** One attachment of a received message, as an edge client gets it. */
export interface InboundDocument {
  readonly mediaType: string;
  readonly content: Buffer;
  readonly fileName: string;
  readonly title: string;
  /** From the metadata of an XDM package, else empty. */
  readonly typeCode: string;
  readonly typeCodeText: string;
}

/** A received message, decoded. */
export interface InboundContent {
  readonly subject: string;
  readonly body: string;
  /** True if `documents` holds an XDM package. */
  readonly isXdm: boolean;
  readonly documents: readonly InboundDocument[];
}

/**
 * Decodes a received message. With `isXdm` a package comes as it was received, and loose documents come packed; without,
 * packages come unpacked into their documents (XDM-12, Decision 0014). What cannot be unpacked stays as it is (AS-81).
 */
export async function openDocuments(
  parts: Pick<MessagingParts, 'contents' | 'identity'>,
  entry: InboxEntry,
  isXdm: boolean,
): Promise<InboundContent> {
  const inner = await parts.contents.open(entry.message.sealed_message, inboxContext(entry.message.id));
  const entity = parseEntity(inner);
  const leaves = collectParts(entity);
  const bodyPart = findBodyText(leaves);
  const subject = decodeWords(entity.header('subject') ?? '').trim();
  const loose = leaves.filter((leaf) => leaf !== bodyPart).map(toDocument);
  const context = { entry, subject, identity: parts.identity };
  const { documents, holdsPackage } = isXdm
    ? await packReceived(loose, context)
    : await unpackReceived(loose);
  return { subject, body: bodyPart?.text() ?? '', isXdm: holdsPackage, documents };
}

function toDocument(part: MessagePart, index: number): InboundDocument {
  return {
    mediaType: part.mediaType,
    content: part.content(),
    fileName: part.fileName ?? `attachment-${index + 1}`,
    title: part.title ?? '',
    typeCode: '',
    typeCodeText: '',
  };
}
