import type { CodedValue, DocumentEntry, SubmissionSet, XdmAuthor } from './entries.ts';
import {
  documentEntryType,
  documentSchemes,
  hasMemberType,
  submissionSchemes,
  submissionSetNode,
} from './schemes.ts';
import { xmlAttributes, xmlText } from './xml-text.ts';

const lcm = 'urn:oasis:names:tc:ebxml-regrep:xsd:lcm:3.0';
const rim = 'urn:oasis:names:tc:ebxml-regrep:xsd:rim:3.0';
const objectType = 'urn:oasis:names:tc:ebxml-regrep:ObjectType:RegistryObject';
const approved = 'urn:oasis:names:tc:ebxml-regrep:StatusType:Approved';

/** METADATA.XML: an ebRS 3.0 SubmitObjectsRequest (XDM-05), its elements in the order of the schema. */
export function writeMetadata(set: SubmissionSet, documents: readonly DocumentEntry[]): string {
  const ids = createIds();
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    `<lcm:SubmitObjectsRequest xmlns:lcm="${lcm}" xmlns="${rim}">\n<RegistryObjectList>\n`,
    ...documents.map((document) => writeDocument(document, ids)),
    writeSubmissionSet(set, ids),
    `<Classification${xmlAttributes({ id: ids('cl'), objectType: `${objectType}:Classification`, classifiedObject: set.entryId, classificationNode: submissionSetNode })}/>\n`,
    ...documents.map((document) => writeAssociation(set.entryId, document.entryId, ids)),
    '</RegistryObjectList>\n</lcm:SubmitObjectsRequest>\n',
  ].join('');
}

/** Symbolic identifiers, `cl01`, `ei02`…, unique within the document (XDR-08). */
type NewId = (prefix: string) => string;

function createIds(): NewId {
  let last = 0;
  return (prefix) => `${prefix}${String(++last).padStart(2, '0')}`;
}

function writeDocument(entry: DocumentEntry, newId: NewId): string {
  return element(
    'ExtrinsicObject',
    {
      id: entry.entryId,
      objectType: documentEntryType,
      mimeType: entry.mimeType,
      status: approved,
      isOpaque: 'false',
    },
    [
      slot('creationTime', entry.creationTime),
      slot('hash', entry.hash),
      slot('languageCode', entry.languageCode),
      slot('size', entry.sizeBytes?.toString()),
      slot('sourcePatientId', entry.sourcePatientId),
      slot('sourcePatientInfo', ...entry.sourcePatientInfo),
      slot('URI', entry.uri),
      localized('Name', entry.title, entry.languageCode),
      localized('Description', entry.comments, entry.languageCode),
      limitedMark(entry, documentSchemes.limited, newId),
      ...entry.authors.map((author) => writeAuthor(author, entry.entryId, documentSchemes.author, newId)),
      code(entry, documentSchemes.classCode, entry.classCode, newId),
      code(entry, documentSchemes.confidentialityCode, entry.confidentialityCode, newId),
      code(entry, documentSchemes.formatCode, entry.formatCode, newId),
      code(entry, documentSchemes.facilityTypeCode, entry.facilityTypeCode, newId),
      code(entry, documentSchemes.practiceSettingCode, entry.practiceSettingCode, newId),
      code(entry, documentSchemes.typeCode, entry.typeCode, newId),
      externalId(entry, documentSchemes.patientId, 'XDSDocumentEntry.patientId', entry.patientId, newId),
      externalId(entry, documentSchemes.uniqueId, 'XDSDocumentEntry.uniqueId', entry.uniqueId, newId),
    ],
  );
}

function writeSubmissionSet(set: SubmissionSet, newId: NewId): string {
  return element(
    'RegistryPackage',
    { id: set.entryId, objectType: `${objectType}:RegistryPackage`, status: approved },
    [
      slot('intendedRecipient', ...set.intendedRecipients),
      slot('submissionTime', set.submissionTime),
      localized('Name', set.title),
      localized('Description', set.comments),
      limitedMark(set, submissionSchemes.limited, newId),
      ...set.authors.map((author) => writeAuthor(author, set.entryId, submissionSchemes.author, newId)),
      code(set, submissionSchemes.contentTypeCode, set.contentTypeCode, newId),
      externalId(set, submissionSchemes.patientId, 'XDSSubmissionSet.patientId', set.patientId, newId),
      externalId(set, submissionSchemes.sourceId, 'XDSSubmissionSet.sourceId', set.sourceId, newId),
      externalId(set, submissionSchemes.uniqueId, 'XDSSubmissionSet.uniqueId', set.uniqueId, newId),
    ],
  );
}

function writeAssociation(sourceObject: string, targetObject: string, newId: NewId): string {
  return element(
    'Association',
    { id: newId('as'), associationType: hasMemberType, sourceObject, targetObject },
    [slot('SubmissionSetStatus', 'Original')],
  );
}

/** META-01: the classification that marks limited metadata. */
function limitedMark(
  object: DocumentEntry | SubmissionSet,
  classificationNode: string,
  newId: NewId,
): string {
  return object.isLimited
    ? `<Classification${xmlAttributes({ id: newId('cl'), classifiedObject: object.entryId, classificationNode })}/>\n`
    : '';
}

function writeAuthor(
  author: XdmAuthor,
  classifiedObject: string,
  classificationScheme: string,
  newId: NewId,
): string {
  return element(
    'Classification',
    { id: newId('cl'), classificationScheme, classifiedObject, nodeRepresentation: '' },
    [
      slot('authorPerson', author.person),
      slot('authorInstitution', ...author.institutions),
      slot('authorTelecommunication', ...author.telecommunications),
    ],
  );
}

function code(
  { entryId }: { readonly entryId: string },
  classificationScheme: string,
  value: CodedValue | undefined,
  newId: NewId,
): string {
  if (value === undefined) return '';
  return element(
    'Classification',
    { id: newId('cl'), classificationScheme, classifiedObject: entryId, nodeRepresentation: value.code },
    [slot('codingScheme', value.codingScheme), localized('Name', value.displayName)],
  );
}

function externalId(
  { entryId }: { readonly entryId: string },
  identificationScheme: string,
  name: string,
  value: string | undefined,
  newId: NewId,
): string {
  if (value === undefined) return '';
  return element(
    'ExternalIdentifier',
    { id: newId('ei'), registryObject: entryId, identificationScheme, value },
    [localized('Name', name)],
  );
}

function slot(name: string, ...values: readonly (string | undefined)[]): string {
  const known = values.filter((value) => value !== undefined && value !== '');
  if (known.length === 0) return '';
  return `<Slot${xmlAttributes({ name })}><ValueList>${known.map((value) => `<Value>${xmlText(value ?? '')}</Value>`).join('')}</ValueList></Slot>\n`;
}

function localized(name: string, value: string | undefined, language?: string): string {
  if (value === undefined) return '';
  return `<${name}><LocalizedString${xmlAttributes({ ...(language === undefined ? {} : { 'xml:lang': language }), value })}/></${name}>\n`;
}

function element(
  name: string,
  attributes: Readonly<Record<string, string>>,
  children: readonly string[],
): string {
  return `<${name}${xmlAttributes(attributes)}>\n${children.join('')}</${name}>\n`;
}
