import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildXdm } from './build-xdm.ts';
import type { DocumentEntry, SubmissionSet } from './entries.ts';
import { readXdm } from './read-xdm.ts';
import type { XdmRequest } from './xdm-request.ts';

const code = { code: '1', codingScheme: '2.16.840.1.113883.6.96', displayName: 'one' };
const request: XdmRequest = {
  from: 'alice@direct.alpha.example',
  to: ['bob@direct.beta.example'],
  messageUuid: '6f1c2c5e-8a43-4d5e-9c0b-0d6f3f1f2a11',
  subject: 'Summary',
  documents: [
    {
      mediaType: 'application/pdf',
      content: Buffer.from('%PDF'),
      fileName: 'a.pdf',
      creationTime: '20120915',
    },
  ],
  sourceId: '1.3.6.1.4.1.99999.1',
  at: new Date('2026-11-21T10:36:55Z'),
  patient: { lastName: 'Jones', firstName: 'Isabella', birthDate: '19470501', gender: 'F' },
  patientId: '1',
  assigningAuthority: '1.2.3',
  loinc: { value: '34133-9', name: 'Summary of episode note' },
  codes: { facilityTypeCode: code, practiceSettingCode: code },
};
const isKnown = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== '';

// Requirements of the optionality table of the XDM and XDR-limited profiles (IHE ITI TF-3 §4.3.1).
const alwaysInDocument: (keyof DocumentEntry)[] = [
  'entryId',
  'mimeType',
  'uniqueId',
  'hash',
  'sizeBytes',
  'uri',
];
const alwaysInSet: (keyof SubmissionSet)[] = [
  'uniqueId',
  'sourceId',
  'submissionTime',
  'authors',
  'intendedRecipients',
];
const fullInDocument: (keyof DocumentEntry)[] = [
  'patientId',
  'sourcePatientId',
  'sourcePatientInfo',
  'classCode',
  'typeCode',
  'formatCode',
  'confidentialityCode',
  'facilityTypeCode',
  'practiceSettingCode',
  'creationTime',
  'languageCode',
];
const fullInSet: (keyof SubmissionSet)[] = ['patientId', 'contentTypeCode'];

test('META-01: full metadata hold every attribute that the table requires', async () => {
  const { documents, submissionSets, metadataLevel } = await readXdm(await buildXdm(request));
  assert.equal(metadataLevel, 'full');
  const entry = documents[0]?.entry;
  for (const name of [...alwaysInDocument, ...fullInDocument]) assert.ok(isKnown(entry?.[name]), name);
  for (const name of [...alwaysInSet, ...fullInSet]) assert.ok(isKnown(submissionSets[0]?.[name]), name);
});

// Each way to know less, and what is then missing.
const lacking: [name: string, change: Partial<XdmRequest>][] = [
  ['patient identifier', { patientId: undefined }],
  ['authority', { assigningAuthority: undefined }],
  ['type', { loinc: undefined }],
  ['facility', { codes: { practiceSettingCode: code } }],
  ['practice setting', { codes: { facilityTypeCode: code } }],
  [
    'creation time',
    { documents: request.documents.map(({ mediaType, content }) => ({ mediaType, content })) },
  ],
  [
    'everything',
    {
      patient: undefined,
      patientId: undefined,
      assigningAuthority: undefined,
      loinc: undefined,
      codes: undefined,
      subject: undefined,
    },
  ],
];

for (const [name, change] of lacking) {
  test(`META-01: without ${name} the metadata are limited, marked, and complete for limited metadata`, async () => {
    const { documents, submissionSets, metadataLevel } = await readXdm(
      await buildXdm({ ...request, ...change }),
    );
    assert.equal(metadataLevel, 'limited');
    const entry = documents[0]?.entry;
    assert.ok(entry?.isLimited === true && submissionSets[0]?.isLimited === true);
    for (const attribute of alwaysInDocument) assert.ok(isKnown(entry[attribute]), attribute);
    for (const attribute of alwaysInSet) assert.ok(isKnown(submissionSets[0][attribute]), attribute);
    assert.deepEqual([entry.patientId, submissionSets[0].patientId], [undefined, undefined]);
  });
}
