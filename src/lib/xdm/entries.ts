/**
 * A code of some code system: `{ code: '34133-9', codingScheme: '2.16.840.1.113883.6.1', displayName:
 * 'Summary of episode note' }`.
 */
export interface CodedValue {
  readonly code: string;
  readonly codingScheme: string;
  readonly displayName: string;
}

export interface XdmAuthor {
  /** XCN, for example `^Welby^Marcus^^^Dr^MD`. */
  readonly person: string | undefined;
  /** XON, for example `Get Well Clinic^^^^^^^^^1.2.3`. */
  readonly institutions: readonly string[];
  /** XTN, for example `^^Internet^alice@direct.example.org`. */
  readonly telecommunications: readonly string[];
}

/** One document's metadata (IHE ITI TF-3 §4.2.3.2); undefined and empty mean that the attribute is absent. */
export interface DocumentEntry {
  /** entryUUID or a symbolic name such as `Document01`. */
  readonly entryId: string;
  readonly mimeType: string;
  /** File name relative to METADATA.XML. */
  readonly uri: string | undefined;
  /** SHA-1 of the file, lower-case hexadecimal: an integrity value of IHE's, no signature (XDM-06). */
  readonly hash: string | undefined;
  readonly sizeBytes: number | undefined;
  readonly uniqueId: string | undefined;
  readonly title: string | undefined;
  readonly comments: string | undefined;
  /** CX, for example `1^^^&1.2.3&ISO`. */
  readonly patientId: string | undefined;
  readonly sourcePatientId: string | undefined;
  /** `PID-3|…` and so on. */
  readonly sourcePatientInfo: readonly string[];
  /** DTM in UTC, 4 to 14 digits. */
  readonly creationTime: string | undefined;
  readonly languageCode: string | undefined;
  readonly authors: readonly XdmAuthor[];
  readonly classCode: CodedValue | undefined;
  readonly typeCode: CodedValue | undefined;
  readonly formatCode: CodedValue | undefined;
  readonly confidentialityCode: CodedValue | undefined;
  readonly facilityTypeCode: CodedValue | undefined;
  readonly practiceSettingCode: CodedValue | undefined;
  readonly isLimited: boolean;
}

/** The metadata of a submission set (IHE ITI TF-3 §4.2.3.3). */
export interface SubmissionSet {
  readonly entryId: string;
  readonly uniqueId: string | undefined;
  readonly sourceId: string | undefined;
  readonly patientId: string | undefined;
  readonly submissionTime: string | undefined;
  readonly contentTypeCode: CodedValue | undefined;
  readonly title: string | undefined;
  readonly comments: string | undefined;
  readonly authors: readonly XdmAuthor[];
  /** `XON|XCN|XTN`, for example `||^^Internet^bob@direct.example.org`. */
  readonly intendedRecipients: readonly string[];
  readonly isLimited: boolean;
}

/** The content of one METADATA.XML. */
export interface XdmMetadata {
  readonly submissionSet: SubmissionSet | undefined;
  readonly documents: readonly DocumentEntry[];
  /** Entry ids of the documents that a HasMember association puts into the submission set. */
  readonly memberIds: readonly string[];
}
