import { createHash } from 'node:crypto';
import { isOid, oidOfUuid } from '../values/index.ts';
import type { CodedValue, DocumentEntry, XdmAuthor } from './entries.ts';
import { shortFileNames } from './file-names.ts';
import { formatCodeOf } from './format-code.ts';
import { formatCx, formatXcn, formatXon, normalizeDtm } from './hl7-values.ts';
import { sourcePatientInfo } from './patient-info.ts';
import { sniffCcda, type CcdaHeader } from './sniff-ccda.ts';
import { defaultXdmCodes, loincScheme, type XdmDocumentInput, type XdmRequest } from './xdm-request.ts';

/** The metadata of all documents of a request, with full or limited metadata alike for all (META-01). */
export function describeDocuments(request: XdmRequest): DocumentEntry[] {
  const names = shortFileNames(request.documents);
  const usedNames = new Set<string>();
  const entries = request.documents.map((document, index) => {
    const entry = describeDocument(request, document, index, names[index] ?? '', usedNames);
    usedNames.add(entry.uniqueId ?? '');
    return entry;
  });
  return entries.every(isComplete)
    ? entries
    : entries.map((entry) => ({ ...entry, patientId: undefined, isLimited: true }));
}

/**
 * True if every attribute that full metadata require is known (IHE ITI TF-3 §4.3.1); nothing is ever made up.
 */
function isComplete(entry: DocumentEntry): boolean {
  const required = [
    entry.patientId,
    entry.sourcePatientId,
    entry.sourcePatientInfo[0],
    entry.creationTime,
    entry.languageCode,
    entry.classCode,
    entry.typeCode,
    entry.formatCode,
    entry.confidentialityCode,
    entry.facilityTypeCode,
    entry.practiceSettingCode,
  ];
  return required.every((value) => value !== undefined);
}

function describeDocument(
  request: XdmRequest,
  document: XdmDocumentInput,
  index: number,
  uri: string,
  usedNames: ReadonlySet<string>,
): DocumentEntry {
  const header = sniffCcda(document.content);
  const codes = { ...defaultXdmCodes, ...request.codes };
  const typeCode = document.typeCode ?? requestedType(request) ?? header?.code;
  const patientId = patientCx(request);
  const mimeType = document.mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return {
    entryId: `Document${String(index + 1).padStart(2, '0')}`,
    mimeType,
    uri,
    hash: createHash('sha1').update(document.content).digest('hex'),
    sizeBytes: document.content.length,
    uniqueId: uniqueIdOf(request, header, index, usedNames),
    title: firstText(document.title, document.fileName, header?.title),
    comments: undefined,
    patientId,
    sourcePatientId: patientId,
    sourcePatientInfo: sourcePatientInfo(request.patient ?? {}, patientId),
    creationTime: normalizeDtm(document.creationTime ?? '') ?? header?.effectiveTime,
    languageCode: header?.languageCode ?? codes.languageCode,
    authors: documentAuthors(request),
    classCode: typeCode,
    typeCode,
    formatCode: formatCodeOf(header),
    confidentialityCode: header?.confidentialityCode ?? codes.confidentialityCode,
    facilityTypeCode: codes.facilityTypeCode,
    practiceSettingCode: codes.practiceSettingCode,
    isLimited: false,
  };
}

export function requestedType({ loinc }: XdmRequest): CodedValue | undefined {
  return loinc === undefined
    ? undefined
    : { code: loinc.value, codingScheme: loincScheme, displayName: firstText(loinc.name) ?? loinc.value };
}

/** Identifier and authority together or not at all. */
export function patientCx({ patientId = '', assigningAuthority = '' }: XdmRequest): string | undefined {
  return patientId.trim() === '' || assigningAuthority === ''
    ? undefined
    : formatCx(patientId, assigningAuthority);
}

export function documentAuthors({ author }: XdmRequest): XdmAuthor[] {
  const person = formatXcn(author?.person ?? '');
  const institution = formatXon(author?.institution ?? '');
  if (person === undefined && institution === undefined) return [];
  return [{ person, institutions: institution === undefined ? [] : [institution], telecommunications: [] }];
}

/**
 * The document's own identifier, else one derived from message and position; always an OID, with a short
 * extension at most (META-02).
 */
function uniqueIdOf(
  request: XdmRequest,
  header: CcdaHeader | undefined,
  index: number,
  usedNames: ReadonlySet<string>,
): string {
  const own = header?.id === undefined ? undefined : ownId(header.id.root, header.id.extension);
  return own === undefined || usedNames.has(own) ? oidOfText(`${request.messageUuid}/${index}`) : own;
}

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function ownId(root: string, extension: string): string | undefined {
  const oid = uuidForm.test(root) ? oidOfUuid(root) : root;
  if (!isOid(oid)) return undefined;
  if (extension === '') return oid;
  // IHE ITI TF-3 §4.2.3.2.26 allows 16 characters; a longer extension still identifies the document when
  // hashed.
  return /^[\w.-]{1,16}$/.test(extension) ? `${oid}^${extension}` : oidOfText(`${oid}^${extension}`);
}

/** An OID under 2.25 from a hash, laid out as a UUID of version 8 (RFC 9562 §5.8). */
function oidOfText(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return oidOfUuid(`${hex.slice(0, 12)}8${hex.slice(13, 16)}8${hex.slice(17, 32)}`);
}

function firstText(...texts: readonly (string | undefined)[]): string | undefined {
  return texts.find((text) => text !== undefined && text.trim() !== '')?.trim();
}
