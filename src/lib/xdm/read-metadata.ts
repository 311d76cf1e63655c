import { decodeXml } from './decode-xml.ts';
import type { CodedValue, DocumentEntry, SubmissionSet, XdmAuthor, XdmMetadata } from './entries.ts';
import { readRegistryObjects, type RegistryObject } from './read-registry-objects.ts';
import { documentSchemes, submissionSchemes } from './schemes.ts';

/**
 * Reads METADATA.XML leniently: whatever is missing stays undefined. Undefined if it is no such document at
 * all.
 */
export function readMetadata(bytes: Uint8Array): XdmMetadata | undefined {
  const roots = readRegistryObjects(decodeXml(bytes).trimStart());
  if (roots === undefined) return undefined;
  const documents = roots.filter((object) => object.kind === 'ExtrinsicObject');
  const packages = roots.filter((object) => object.kind === 'RegistryPackage');
  if (documents.length === 0 && packages.length === 0) return undefined;
  addClassifications(roots);
  const set =
    packages.find(({ children }) => children.some((child) => hasScheme(child, submissionSchemes.uniqueId))) ??
    packages[0];
  return {
    submissionSet: set === undefined ? undefined : readSubmissionSet(set, set.children),
    documents: documents.map((object) => readDocument(object, object.children)),
    memberIds: memberIds(roots, set),
  };
}

/**
 * A classification may stand inside of its object or next to it: then it is put inside. Of several objects of
 * one id, which XML forbids, the first gets it, so that the work grows with the number of elements alone.
 */
function addClassifications(roots: readonly RegistryObject[]): void {
  const objects = roots.filter(({ kind }) => kind === 'ExtrinsicObject' || kind === 'RegistryPackage');
  const byId = new Map(objects.toReversed().map((object) => [object.attributes['id'] ?? '', object]));
  for (const root of roots) {
    if (root.kind === 'Classification')
      byId.get(root.attributes['classifiedObject'] ?? '')?.children.push(root);
  }
}

function memberIds(roots: readonly RegistryObject[], set: RegistryObject | undefined): string[] {
  const source = set?.attributes['id'];
  return roots
    .filter(
      (root) =>
        root.kind === 'Association' &&
        root.attributes['sourceObject'] === source &&
        root.attributes['associationType']?.endsWith('HasMember') === true,
    )
    .flatMap((root) => root.attributes['targetObject'] ?? []);
}

function readDocument(object: RegistryObject, children: readonly RegistryObject[]): DocumentEntry {
  const slot = (name: string): string | undefined => known(object.slots.get(name)?.[0]);
  const size = slot('size');
  return {
    entryId: object.attributes['id'] ?? '',
    mimeType: (object.attributes['mimeType'] ?? '').trim().toLowerCase(),
    uri: object.slots.has('URI') ? joinUri(object.slots.get('URI') ?? []) : undefined,
    hash: readHash(slot('hash')?.trim()),
    sizeBytes: size !== undefined && /^\d{1,15}$/.test(size) ? Number(size) : undefined,
    uniqueId: externalId(children, documentSchemes.uniqueId),
    title: known(object.name),
    comments: known(object.description),
    patientId: externalId(children, documentSchemes.patientId),
    sourcePatientId: slot('sourcePatientId'),
    sourcePatientInfo: object.slots.get('sourcePatientInfo') ?? [],
    creationTime: slot('creationTime'),
    languageCode: slot('languageCode'),
    authors: readAuthors(children, documentSchemes.author),
    classCode: readCode(children, documentSchemes.classCode),
    typeCode: readCode(children, documentSchemes.typeCode),
    formatCode: readCode(children, documentSchemes.formatCode),
    confidentialityCode: readCode(children, documentSchemes.confidentialityCode),
    facilityTypeCode: readCode(children, documentSchemes.facilityTypeCode),
    practiceSettingCode: readCode(children, documentSchemes.practiceSettingCode),
    isLimited: hasNode(children, documentSchemes.limited),
  };
}

/** A long URI is split over values, `1|first part`, `2|second part` (IHE ITI TF-3 §4.2.3.2.27). */
function joinUri(values: readonly string[]): string | undefined {
  const numbered = values.map((value) => /^(\d{1,3})\|(.*)$/.exec(value));
  if (values.length === 1 || numbered.some((match) => match === null)) return known(values[0]);
  return known(
    numbered
      .toSorted((a, b) => Number(a?.[1]) - Number(b?.[1]))
      .map((match) => match?.[2] ?? '')
      .join(''),
  );
}

function readSubmissionSet(object: RegistryObject, children: readonly RegistryObject[]): SubmissionSet {
  return {
    entryId: object.attributes['id'] ?? '',
    uniqueId: externalId(children, submissionSchemes.uniqueId),
    sourceId: externalId(children, submissionSchemes.sourceId),
    patientId: externalId(children, submissionSchemes.patientId),
    submissionTime: known(object.slots.get('submissionTime')?.[0]),
    contentTypeCode: readCode(children, submissionSchemes.contentTypeCode),
    title: known(object.name),
    comments: known(object.description),
    authors: readAuthors(children, submissionSchemes.author),
    intendedRecipients: object.slots.get('intendedRecipient') ?? [],
    isLimited: hasNode(children, submissionSchemes.limited),
  };
}

function readAuthors(children: readonly RegistryObject[], scheme: string): XdmAuthor[] {
  return children
    .filter((child) => child.kind === 'Classification' && hasScheme(child, scheme))
    .map(({ slots }) => ({
      person: known(slots.get('authorPerson')?.[0]),
      institutions: slots.get('authorInstitution') ?? [],
      telecommunications: slots.get('authorTelecommunication') ?? [],
    }));
}

function readCode(children: readonly RegistryObject[], scheme: string): CodedValue | undefined {
  const child = children.find(
    (candidate) => candidate.kind === 'Classification' && hasScheme(candidate, scheme),
  );
  const code = known(child?.attributes['nodeRepresentation']);
  if (child === undefined || code === undefined) return undefined;
  return {
    code,
    codingScheme: child.slots.get('codingScheme')?.[0] ?? '',
    displayName: known(child.name) ?? code,
  };
}

function externalId(children: readonly RegistryObject[], scheme: string): string | undefined {
  return known(
    children.find((child) => child.kind === 'ExternalIdentifier' && hasScheme(child, scheme))?.attributes[
      'value'
    ],
  );
}

function hasScheme({ attributes }: RegistryObject, scheme: string): boolean {
  return (attributes['classificationScheme'] ?? attributes['identificationScheme'])?.toLowerCase() === scheme;
}

function hasNode(children: readonly RegistryObject[], node: string): boolean {
  return children.some(
    (child) =>
      child.kind === 'Classification' && child.attributes['classificationNode']?.toLowerCase() === node,
  );
}

function known(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text;
}

/** Some senders write base64, as FHIR does, or hexadecimal digits in groups or with the name before them. */
function readHash(text: string | undefined): string | undefined {
  const isBase64 =
    text !== undefined &&
    /^(?![\da-f]{64}$)(?:[a-z\d+/]{27}=|[a-z\d+/]{43}=|[a-z\d+/]{64}|[a-z\d+/]{86}==)$/i.test(text);
  return isBase64
    ? Buffer.from(text, 'base64').toString('hex')
    : text?.toLowerCase().replace(/^(?:0x|sha-?\d{1,3}[:=])|[\s:-]+/g, '');
}
