/**
 * The names of IHE's classification schemes and external identifiers (IHE ITI TF-3 §4.2.5.2). They are the
 * same in every XDS, XDR and XDM metadata document.
 */
export const documentEntryType = 'urn:uuid:7edca82f-054d-47f2-a032-9b2a5b5186c1';
export const submissionSetNode = 'urn:uuid:a54d6aa5-d40d-43f9-88c5-b4633d873bdd';
export const hasMemberType = 'urn:oasis:names:tc:ebxml-regrep:AssociationType:HasMember';

export const documentSchemes = {
  author: 'urn:uuid:93606bcf-9494-43ec-9b4e-a7748d1a838d',
  classCode: 'urn:uuid:41a5887f-8865-4c09-adf7-e362475b143a',
  confidentialityCode: 'urn:uuid:f4f85eac-e6cb-4883-b524-f2705394840f',
  formatCode: 'urn:uuid:a09d5840-386c-46f2-b5ad-9c3699a4309d',
  facilityTypeCode: 'urn:uuid:f33fb8ac-18af-42cc-ae0e-ed0b0bdb91e1',
  practiceSettingCode: 'urn:uuid:cccf5598-8b07-4b77-a05e-ae952c785ead',
  typeCode: 'urn:uuid:f0306f51-975f-434e-a61c-c59651d33983',
  eventCode: 'urn:uuid:2c6b8cb7-8b2a-4051-b291-b1ae6a575ef4',
  patientId: 'urn:uuid:58a6f841-87b3-4a3e-92fd-a8ffeff98427',
  uniqueId: 'urn:uuid:2e82c1f6-a085-4c72-9da3-8640a32e42ab',
  limited: 'urn:uuid:ab9b591b-83ab-4d03-8f5d-f93b1fb92e85',
} as const;

export const submissionSchemes = {
  author: 'urn:uuid:a7058bb9-b4e4-4307-ba5b-e3f0ab85e12d',
  contentTypeCode: 'urn:uuid:aa543740-bdda-424e-8c96-df4873be8500',
  patientId: 'urn:uuid:6b5aea1a-874d-4603-a4bc-96a0a7b38446',
  uniqueId: 'urn:uuid:96fdda7c-d067-4183-912e-bf5ee74998a8',
  sourceId: 'urn:uuid:554ac39e-e3fe-47fe-b233-965d2a147832',
  limited: 'urn:uuid:5003a9db-8d8d-49e6-bf0c-990e34ac7707',
} as const;
