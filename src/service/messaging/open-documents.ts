import {
  collectParts,
  findBodyText,
  parseEntity,
  decodeWords,
  type MessagePart,
} from '../../lib/mime/index.ts';
import { packReceived, unpackReceived } from './received-xdm.ts';
import type { ServiceIdentity } from './seams.ts';

/** A recipient's copy and the message that it is of, without its content. */
export interface ReceivedFacts {
  readonly copyId: string;
  readonly recipient: string;
  readonly sender: string;
  /** The sender's Message-ID, with angle brackets; empty if there was none. */
  readonly wireId: string;
  readonly receivedAt: Date;
}

export interface OpenOptions {
  readonly facts: ReceivedFacts;
  readonly isXdm: boolean;
  readonly identity: ServiceIdentity;
}

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
  inner: Uint8Array,
  { facts, isXdm, identity }: OpenOptions,
): Promise<InboundContent> {
  const entity = parseEntity(inner);
  const leaves = collectParts(entity);
  const bodyPart = findBodyText(leaves);
  const subject = decodeWords(entity.header('subject') ?? '').trim();
  const loose = leaves.filter((leaf) => leaf !== bodyPart).map(toDocument);
  const context = { facts, subject, identity };
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
