import {
  buildXdm,
  isCutXdm,
  isXdm,
  readXdm,
  xdmFileName,
  XdmError,
  type XdmDocument,
} from '../../../lib/xdm/index.ts';
import { toPackageWarning, toUnreadWarning } from './describe-damage.ts';
import type { InboundDocument, PackageWarning, ReceivedFacts } from './inbound-document.ts';
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
  /** The damage that was found in packages, by the positions of `documents`. */
  readonly damage: readonly PackageWarning[];
}

/**
 * Packages unchanged; if there is none, the loose documents as one package with the little metadata that is
 * known. What belongs to the text stays next to it.
 */
export async function packReceived(
  loose: readonly InboundDocument[],
  { facts, subject, sentAt, identity }: PackContext,
): Promise<Arranged> {
  const damage = await Promise.all(
    loose.map(async (document, index) =>
      isPackage(document) ? (await unpack(document)).describe(() => index) : [],
    ),
  );
  if (loose.some(isPackage)) return { documents: loose, holdsPackage: true, damage: damage.flat() };
  const inline = loose.filter(({ isInline }) => isInline);
  const clinical = loose.filter(({ isInline }) => !isInline);
  if (clinical.length === 0) return { documents: inline, holdsPackage: false, damage: [] };
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
  return { documents: [built, ...inline], holdsPackage: true, damage: [] };
}

/** Each package replaced by the documents in it, with type code and title from the metadata. */
export async function unpackReceived(loose: readonly InboundDocument[]): Promise<Arranged> {
  const all = await Promise.all(
    loose.map(async (document) => (isPackage(document) ? unpack(document) : { documents: [document] })),
  );
  const documents: InboundDocument[] = [];
  const damage: PackageWarning[] = [];
  for (const one of all) {
    const start = documents.length;
    documents.push(...one.documents);
    if ('describe' in one) damage.push(...one.describe((position) => start + position));
  }
  return { documents, holdsPackage: documents.some(isPackage), damage };
}

/** True for a document that {@link unpackReceived} tries to unpack. */
export function isPackage({
  content,
  mediaType,
  fileName,
}: Pick<InboundDocument, 'content' | 'mediaType'> & { readonly fileName?: string }): boolean {
  return isXdm(content, mediaType, fileName) || isCutXdm(content, mediaType, fileName);
}

interface Unpacked {
  /** At least one. */
  readonly documents: readonly InboundDocument[];
  /** Its damage; `placeOf` is where a document of the package is, or the first for what is of the whole. */
  describe(placeOf: (position: number) => number): PackageWarning[];
}

// A package that cannot or must not be unpacked is returned as it is: faults of a payload are for its reader
// (AS-81).
async function unpack(packed: InboundDocument): Promise<Unpacked> {
  try {
    const { documents, damage } = await readXdm(packed.content);
    return {
      documents: documents.length === 0 ? [packed] : documents.map(toDocument),
      describe: (placeOf) => damage.map((one) => toPackageWarning(one, documents.length, placeOf)),
    };
  } catch (error) {
    if (!(error instanceof XdmError)) throw error;
    return { documents: [packed], describe: (placeOf) => [toUnreadWarning(error, placeOf(0))] };
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
