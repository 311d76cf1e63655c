import { isOid, oidOfUuid } from '../values/index.ts';
import { describeDocuments, documentAuthors, patientCx, requestedType } from './describe-documents.ts';
import type { DocumentEntry, SubmissionSet, XdmAuthor } from './entries.ts';
import { XdmError } from './errors.ts';
import { formatDtm, formatXtn } from './hl7-values.ts';
import { writeIndex, writeReadme } from './write-index.ts';
import { writeMetadata } from './write-metadata.ts';
import type { XdmRequest } from './xdm-request.ts';
import { ZipFile } from 'yazl';

const subset = 'IHE_XDM/SUBSET01/';
const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Builds an XDM package for e-mail (XDM-01 to XDM-06, XDM-10; META-01 to META-09): full metadata if every
 * required field is known, else limited. Deterministic. Throws XDM_NO_DOCUMENTS and XDM_VALUE_INVALID.
 */
export async function buildXdm(request: XdmRequest): Promise<Buffer> {
  checkRequest(request);
  const documents = describeDocuments(request);
  const set = describeSubmission(request, documents);
  const text = (name: string, content: string): { name: string; content: Buffer } => ({
    name,
    content: Buffer.from(content),
  });
  return writeZip(
    [
      text('INDEX.HTM', writeIndex(request, set, documents)),
      text('README.TXT', writeReadme(request, set, documents)),
      { name: 'IHE_XDM/' },
      { name: subset },
      text(`${subset}METADATA.XML`, writeMetadata(set, documents)),
      ...request.documents.map(({ content }, index) => ({
        name: `${subset}${documents[index]?.uri ?? ''}`,
        content,
      })),
    ],
    request.at,
  );
}

function checkRequest(request: XdmRequest): void {
  if (request.documents.length === 0)
    throw new XdmError('XDM_NO_DOCUMENTS', 'A package needs at least one document');
  const checks: [name: string, isValid: boolean][] = [
    ['sourceId', isOid(request.sourceId)],
    [
      'assigningAuthority',
      request.assigningAuthority === undefined ||
        request.assigningAuthority === '' ||
        isOid(request.assigningAuthority),
    ],
    ['messageUuid', uuidForm.test(request.messageUuid)],
    ['birthDate', request.patient?.birthDate === undefined || /^(?:\d{8})?$/.test(request.patient.birthDate)],
    ['gender', request.patient?.gender === undefined || /^[MFOUAN]?$/i.test(request.patient.gender)],
  ];
  for (const [name, isValid] of checks) {
    if (!isValid)
      throw new XdmError('XDM_VALUE_INVALID', `The value of ${name} cannot stand in XDM metadata`);
  }
}

const subjectMark = 'XDM/1.0/DDM';

/**
 * The subject of the message that carries a package: the user's, with the mark that IHE wants in it (XDM-07).
 */
export function xdmSubject(subject = ''): string {
  return subject.includes(subjectMark) ? subject : `${subject} ${subjectMark}`.trim();
}

/** The attachment's name, `<uuid>-xdm.zip` (XDM-07). */
export function xdmFileName(messageUuid: string): string {
  return `${messageUuid.toLowerCase()}-xdm.zip`;
}

/**
 * The submission set of a request: the sender as author, one intended recipient per address (META-03,
 * META-08).
 */
function describeSubmission(request: XdmRequest, documents: readonly DocumentEntry[]): SubmissionSet {
  const isLimited = documents.some((document) => document.isLimited);
  const comments = [request.body, request.patientSummary]
    .filter((text) => text !== undefined && text.trim() !== '')
    .join('\n\n');
  return {
    entryId: 'SubmissionSet01',
    uniqueId: oidOfUuid(request.messageUuid),
    sourceId: request.sourceId,
    patientId: isLimited ? undefined : patientCx(request),
    submissionTime: formatDtm(request.at),
    contentTypeCode:
      requestedType(request) ?? documents.find((document) => document.typeCode !== undefined)?.typeCode,
    title: request.subject?.trim() === '' ? undefined : request.subject?.trim(),
    comments: comments === '' ? undefined : comments,
    authors: [withSender(documentAuthors(request)[0], request.from)],
    intendedRecipients: request.to.map((address) => `||${formatXtn(address)}`),
    isLimited,
  };
}

function withSender(author: XdmAuthor | undefined, from: string): XdmAuthor {
  return {
    person: author?.person,
    institutions: author?.institutions ?? [],
    telecommunications: [formatXtn(from)],
  };
}

/** A file, or a directory if it has no content; names of directories end in a slash. */
export interface ZipItem {
  readonly name: string;
  readonly content?: Uint8Array;
}

/** Already packed formats gain nothing from deflate. */
const packedName = /\.(?:ZIP|JPG|PNG|GIF|GZ)$/;

/**
 * A ZIP archive of the items in their order. Equal items and time give equal bytes, whatever the time zone of
 * the machine.
 */
export async function writeZip(items: readonly ZipItem[], at: Date): Promise<Buffer> {
  const zip = new ZipFile();
  const mtime = asLocalTime(at);
  for (const { name, content } of items) {
    if (content === undefined) zip.addEmptyDirectory(name, { mtime, mode: 0o40755, forceDosTimestamp: true });
    else
      zip.addBuffer(Buffer.from(content.buffer, content.byteOffset, content.byteLength), name, {
        mtime,
        mode: 0o100644,
        forceDosTimestamp: true,
        compress: !packedName.test(name),
      });
  }
  zip.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of zip.outputStream)
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks);
}

/**
 * ZIP holds local time without a zone; this date shows the UTC time in any zone. DOS knows no year before
 * 1980.
 */
function asLocalTime(at: Date): Date {
  return new Date(
    Math.max(at.getUTCFullYear(), 1980),
    at.getUTCMonth(),
    at.getUTCDate(),
    at.getUTCHours(),
    at.getUTCMinutes(),
    at.getUTCSeconds(),
  );
}
