import { buildXdm, isXdm, readXdm, xdmFileName, XdmError, type XdmDocument } from '../../../lib/xdm/index.ts';
import type { InboundDocument, ReceivedFacts } from './inbound-document.ts';
import type { ServiceIdentity } from '../identity.ts';

export interface PackContext {
  readonly facts: ReceivedFacts;
  readonly subject: string;
  /** The message's Date; undefined if it has none. */
  readonly sentAt: Date | undefined;
  readonly identity: ServiceIdentity;
}

/** Documents as they are to be returned. */
export interface Arranged {
  readonly documents: readonly InboundDocument[];
  readonly holdsPackage: boolean;
}

/**
 * Packages unchanged; if there is none, the loose documents as one package with the little metadata that is known. What belongs to the text stays
 * next to it.
 */
export async function packReceived(
  loose: readonly InboundDocument[],
  { facts, subject, sentAt, identity }: PackContext,
): Promise<Arranged> {
  if (loose.some(isPackage)) return { documents: loose, holdsPackage: true };
  const inline = loose.filter(({ isInline }) => isInline);
  const clinical = loose.filter(({ isInline }) => !isInline);
  if (clinical.length === 0) return { documents: inline, holdsPackage: false };
  const content = await buildXdm({
    from: facts.sender,
    to: [facts.recipient],
    messageUuid: facts.copyId,
    subject,
    documents: clinical.map(({ mediaType, content, fileName, title }) => ({
      mediaType,
      content,
      fileName,
      title,
    })),
    sourceId: identity.sourceOid,
    // META-03: the time of the submission is that of the message, not of its receipt.
    at: sentAt ?? facts.receivedAt,
  });
  const built: InboundDocument = {
    mediaType: 'application/zip',
    charset: '',
    content,
    fileName: xdmFileName(facts.copyId),
    title: '',
    contentId: '',
    isInline: false,
    typeCode: '',
    typeCodeText: '',
  };
  return { documents: [built, ...inline], holdsPackage: true };
}

/** Each package replaced by the documents in it, with type code and title from the metadata. */
export async function unpackReceived(loose: readonly InboundDocument[]): Promise<Arranged> {
  const lists = await Promise.all(
    loose.map(async (document) => (isPackage(document) ? unpack(document) : [document])),
  );
  const documents = lists.flat();
  return { documents, holdsPackage: documents.some(isPackage) };
}

function isPackage({ content, mediaType, fileName }: InboundDocument): boolean {
  return isXdm(content, mediaType, fileName);
}

// A package that cannot or must not be unpacked is returned as it is: payload faults are not ours to judge (AS-81).
async function unpack(packed: InboundDocument): Promise<readonly InboundDocument[]> {
  try {
    const { documents } = await readXdm(packed.content);
    return documents.length === 0 ? [packed] : documents.map(toDocument);
  } catch (error) {
    if (error instanceof XdmError) return [packed];
    throw error;
  }
}

function toDocument({ mediaType, content, fileName, title, typeCode }: XdmDocument): InboundDocument {
  return {
    mediaType,
    charset: '',
    content,
    fileName,
    title,
    contentId: '',
    isInline: false,
    typeCode: typeCode?.code ?? '',
    typeCodeText: typeCode?.displayName ?? '',
  };
}
