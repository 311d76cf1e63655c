import { isOid, isStateCode } from '../../../lib/values/index.ts';

/**
 * One text field of the send request. `check` gets a value that is not blank, has no forbidden character and
 * is short enough, and returns the fault in one sentence.
 */
export interface TextField {
  readonly name: string;
  readonly description: string;
  readonly example: string;
  /** Characters; `subject` and `text` stand for the configurable limits (Decision 0010). */
  readonly maxLength: number | 'subject' | 'text';
  /** May hold several lines; all others must be one line (Decision 0010: M16). */
  readonly isMultiLine?: boolean;
  check?(value: string, today: string): string | undefined;
}

const birthDate = /^(\d{4})(\d{2})(\d{2})$/;
const zipCode = /^\d{5}(?:-?\d{4})?$/;
/** HL7 table 0001 (Decision 0010: M9). */
const genders = /^[MFOUAN]$/i;
const loincCode = /^\d{1,7}-\d$/;

/** Every text field of the outbound message (Messaging spec: Outbound message). The table is the code. */
export const textFields = [
  {
    name: 'messageBody',
    description: 'Text body. Required unless there is an attachment.',
    example: 'Please find the referral attached.',
    maxLength: 'text',
    isMultiLine: true,
  },
  { name: 'messageSubject', description: 'Subject.', example: 'Referral', maxLength: 'subject' },
  {
    name: 'patientAddressStreet1',
    description: 'Patient street line 1.',
    example: '123 Main Street',
    maxLength: 200,
  },
  { name: 'patientAddressStreet2', description: 'Patient street line 2.', example: 'Apt 4', maxLength: 200 },
  { name: 'patientAddressCity', description: 'Patient city.', example: 'Springfield', maxLength: 100 },
  {
    name: 'patientAddressState',
    description: 'Patient state abbreviation, two letters.',
    example: 'MA',
    maxLength: 20,
    check: (value) => (isStateCode(value) ? undefined : 'Not a two-letter state abbreviation.'),
  },
  {
    name: 'patientAddressZip',
    description: 'Patient ZIP code: five or nine digits.',
    example: '01103-1234',
    maxLength: 20,
    check: (value) => (zipCode.test(value) ? undefined : 'A ZIP code has five or nine digits.'),
  },
  {
    name: 'patientDOB',
    description: 'Date of birth, `YYYYMMDD`: a real date, not in the future in any time zone.',
    example: '19701231',
    maxLength: 20,
    check: findBirthDateProblem,
  },
  {
    name: 'patientGender',
    description: 'One letter of HL7 table 0001, in any case: M, F, O, U, A or N.',
    example: 'F',
    maxLength: 20,
    check: (value) => (genders.test(value) ? undefined : 'Must be one of M, F, O, U, A, N.'),
  },
  {
    name: 'patientId',
    description: 'Patient identifier; comes together with assigning_authority.',
    example: 'MRN-0042',
    maxLength: 128,
  },
  {
    name: 'assigning_authority',
    description: 'OID of the authority that assigned patientId; comes together with it.',
    example: '1.3.6.1.4.1.21367.100.1',
    maxLength: 64,
    check: findOidProblem,
  },
  {
    name: 'patientIdType',
    description:
      'OID naming the type of patientId. Stored with the message; no standard place on the wire exists.',
    example: '2.16.840.1.113883.4.1',
    maxLength: 64,
    check: findOidProblem,
  },
  { name: 'patientLastname', description: 'Patient last name.', example: 'Doe', maxLength: 100 },
  { name: 'patientFirstname', description: 'Patient first name.', example: 'Jane', maxLength: 100 },
  { name: 'patientMiddlename', description: 'Patient middle name or initial.', example: 'Q', maxLength: 100 },
  {
    name: 'patient_summary',
    description:
      'Lines that summarize name, address, gender and date of birth. Appended to the text, or put into the XDM package.',
    example: 'Jane Q Doe\nF, 1970-12-31',
    maxLength: 'text',
    isMultiLine: true,
  },
  {
    name: 'loincName',
    description: 'Document type name; becomes the display name of the XDM type code.',
    example: 'Summarization of Episode Note',
    maxLength: 255,
  },
  {
    name: 'loincValue',
    description: 'Document type code of LOINC; becomes the XDM type code.',
    example: '34133-9',
    maxLength: 20,
    check: (value) =>
      loincCode.test(value) ? undefined : 'A LOINC code is digits, a hyphen and a check digit.',
  },
  {
    name: 'authorPerson',
    description: 'Author: an XCN value with carets, or plain text, which is taken as the family name.',
    example: '1234567893^Smith^Alice^^^Dr',
    maxLength: 255,
  },
  {
    name: 'authorInstitution',
    description: 'Institution as caret-delimited XON value whose last component is an OID.',
    example: 'Example Clinic^^^^^^^^^1.3.6.1.4.1.21367.200',
    maxLength: 255,
    check: findInstitutionProblem,
  },
] as const satisfies readonly TextField[];

export type TextFieldName = (typeof textFields)[number]['name'];

/** A true/false field of the send request. */
export interface FlagField {
  readonly name: string;
  readonly description: string;
}

export const flagFields = [
  { name: 'xdm', description: 'True packs the attachments into one IHE XDM package. Default false.' },
  {
    name: 'asmEnabled',
    description:
      'Its meaning is not published anywhere. Accepted, stored and shown by status; it changes nothing on the wire.',
  },
  {
    name: 'requestFinalDelivery',
    description:
      "Our addition: asks the receiving service to confirm the final delivery (state dispatched). Default from the client's settings.",
  },
] as const satisfies readonly FlagField[];

export type FlagFieldName = (typeof flagFields)[number]['name'];

function findOidProblem(value: string): string | undefined {
  return isOid(value) ? undefined : 'Not a dotted OID.';
}

// An XON value ends in the organization's OID (META-07).
function findInstitutionProblem(value: string): string | undefined {
  const components = value.split('^');
  const isWhole = components.length > 1 && components[0] !== '' && isOid(components.at(-1) ?? '');
  return isWhole ? undefined : 'Must be a name, carets and an OID as the last component.';
}

function findBirthDateProblem(value: string, today: string): string | undefined {
  const [, year, month, day] = birthDate.exec(value) ?? [];
  if (year === undefined || !isRealDate(Number(year), Number(month), Number(day)))
    return 'Not a date in the form YYYYMMDD.';
  return value > today ? 'The date lies in the future.' : undefined;
}

function isRealDate(year: number, month: number, day: number): boolean {
  // setUTCFullYear, because the Date constructor takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return year > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** True if a LOINC code's last digit is its Mod 10 check digit (META-09: a warning, not a refusal). */
export function hasLoincCheckDigit(code: string): boolean {
  const [number = '', check = ''] = code.split('-');
  let sum = 0;
  for (const [index, digit] of [...number].toReversed().entries()) {
    const weighted = index % 2 === 0 ? Number(digit) * 2 : Number(digit);
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return (10 - (sum % 10)) % 10 === Number(check);
}
