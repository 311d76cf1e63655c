import type { CodedValue } from './entries.ts';

/** Every field is optional; unknown or empty ones are omitted from the package. */
export interface XdmPatient {
  readonly lastName?: string | undefined;
  readonly firstName?: string | undefined;
  readonly middleName?: string | undefined;
  /** `YYYYMMDD`. */
  readonly birthDate?: string | undefined;
  /** HL7 table 0001: M, F, O, U, A, N. */
  readonly gender?: string | undefined;
  readonly street1?: string | undefined;
  readonly street2?: string | undefined;
  readonly city?: string | undefined;
  readonly state?: string | undefined;
  readonly zip?: string | undefined;
}

export interface XdmDocumentInput {
  /** Type and subtype; parameters are omitted from the metadata. */
  readonly mediaType: string;
  readonly content: Uint8Array;
  /** The sender's name for the file; the package holds a short one made from it. */
  readonly fileName?: string | undefined;
  readonly title?: string | undefined;
  /** DTM in UTC. Default: the document's own effective time, if it is a C-CDA (META-03). */
  readonly creationTime?: string | undefined;
  /** Default: the request's LOINC code, then the C-CDA's own. */
  readonly typeCode?: CodedValue | undefined;
}

/** Codes that the send request does not hold; each of an installation's own choice. */
export interface XdmCodes {
  readonly confidentialityCode: CodedValue;
  readonly languageCode: string;
  /** Without these two no package can have full metadata. */
  readonly facilityTypeCode?: CodedValue | undefined;
  readonly practiceSettingCode?: CodedValue | undefined;
}

/** The input of a package: the fields of the send request, or of a received message. */
export interface XdmRequest {
  /** Direct address of the sender. */
  readonly from: string;
  readonly to: readonly string[];
  /** The bare UUID of the message. */
  readonly messageUuid: string;
  readonly subject?: string | undefined;
  /** Text of the message; the comments of the submission set. */
  readonly body?: string | undefined;
  readonly patientSummary?: string | undefined;
  readonly patient?: XdmPatient | undefined;
  readonly patientId?: string | undefined;
  /** OID of the authority that gave `patientId`. */
  readonly assigningAuthority?: string | undefined;
  readonly loinc?: { readonly value: string; readonly name?: string | undefined } | undefined;
  /** A person as text or XCN, an institution as text or XON. */
  readonly author?:
    | { readonly person?: string | undefined; readonly institution?: string | undefined }
    | undefined;
  readonly documents: readonly XdmDocumentInput[];
  /** OID of this installation (META-03). */
  readonly sourceId: string;
  /** The message's Date. */
  readonly at: Date;
  readonly codes?: Partial<XdmCodes> | undefined;
}

export const loincScheme = '2.16.840.1.113883.6.1';

export const defaultXdmCodes: XdmCodes = {
  confidentialityCode: { code: 'N', codingScheme: '2.16.840.1.113883.5.25', displayName: 'Normal' },
  languageCode: 'en-US',
};
