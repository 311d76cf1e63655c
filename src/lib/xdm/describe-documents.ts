import { createHash } from 'node:crypto';
import { isOid, oidOfUuid } from '../values/index.ts';
import type { CodedValue, DocumentEntry, XdmAuthor } from './entries.ts';
import { shortFileNames } from './file-names.ts';
import { escapeHl7, formatCx, formatXcn, formatXon, normalizeDtm } from './hl7-values.ts';
import { type CcdaHeader, sniffCcda } from './sniff-ccda.ts';
import {
  defaultXdmCodes,
  loincScheme,
  type XdmDocumentInput,
  type XdmPatient,
  type XdmRequest,
} from './xdm-request.ts';

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

/**
 * The values of sourcePatientInfo (META-06), as `PID-5|Last^First^Middle`; components and lines without
 * content are omitted.
 */
function sourcePatientInfo(patient: XdmPatient, cx: string | undefined): string[] {
  const { lastName, firstName, middleName, birthDate, gender, street1, street2, city, state, zip } = patient;
  const lines: [field: string, value: string][] = [
    ['PID-3', cx ?? ''],
    ['PID-5', joinComponents(lastName, firstName, middleName)],
    ['PID-7', birthDate ?? ''],
    ['PID-8', gender?.toUpperCase() ?? ''],
    ['PID-11', joinAddress(street1, street2, city, state, zip)],
  ];
  return lines.filter(([, value]) => value !== '').map(([field, value]) => `${field}|${value}`);
}

function joinComponents(...components: readonly (string | undefined)[]): string {
  return components
    .map((component) => escapeHl7(component ?? ''))
    .join('^')
    .replace(/\^+$/, '');
}

/** The last caret stands before an empty country, as the test tools' samples have it. */
function joinAddress(...components: readonly (string | undefined)[]): string {
  const address = components.map((component) => escapeHl7(component ?? '')).join('^');
  return /^\^*$/.test(address) ? '' : `${address}^`;
}

const scheme = '1.3.6.1.4.1.19376.1.2.3';
/** All document templates of C-CDA stand below this; the tenth is the unstructured document. */
const documentTemplates = '2.16.840.1.113883.10.20.22.1.';
const unstructured = `${documentTemplates}10`;

/**
 * C-CDA 1.1 and 2.1 have their own format codes; of any other document the media type says enough (IHE ITI
 * TF-3 §4.2.3.2.9).
 */
export function formatCodeOf(header: CcdaHeader | undefined): CodedValue {
  const templates = header?.templateIds.filter((id) => id.startsWith(documentTemplates)) ?? [];
  const release = releaseOf(templates);
  if (release === undefined) {
    return {
      code: 'urn:ihe:iti:xds:2017:mimeTypeSufficient',
      codingScheme: scheme,
      displayName: 'Media type sufficient',
    };
  }
  const isUnstructured = templates.some((id) => id.split('^', 1)[0] === unstructured);
  const body = isUnstructured ? 'nonXMLBody' : 'structuredBody';
  return {
    code: `urn:hl7-org:sdwg:ccda-${body}:${release}`,
    codingScheme: scheme,
    displayName: `C-CDA R${release} with ${isUnstructured ? 'an unstructured' : 'a structured'} body`,
  };
}

/**
 * Templates of release 1.1 have no extension, those of 2.1 a date from 2015 on; releases between them have no
 * code.
 */
function releaseOf(templates: readonly string[]): string | undefined {
  const versions = templates.map((id) => id.split('^')[1] ?? '');
  if (versions.some((version) => /^20(?:1[5-9]|[2-9]\d)-/.test(version))) return '2.1';
  return versions.length > 0 && versions.every((version) => version === '') ? '1.1' : undefined;
}
