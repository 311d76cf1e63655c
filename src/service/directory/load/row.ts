/** The result of a format for one row of a file, before it is checked. */
export interface RowDraft {
  readonly line: number;
  /** In the order of `textFields`, as in the file. */
  readonly texts: readonly string[];
  readonly latitude: string;
  readonly longitude: string;
  /** The stable key if the file has a column for it, else ''. */
  readonly key: string;
  /** The action of a row in an incremental file, in lower case; '' means add or change. */
  readonly action: string;
  /** True if the row is marked as a patient's address (DIR-03). */
  readonly isPatient: boolean;
}

/** Why a row is not loaded. */
export const refusalReasons = {
  columns: 'The row has another number of columns than the header.',
  quoting: 'Quotes are misplaced.',
  not_utf8: 'The text is not UTF-8.',
  too_long: 'A value is longer than any field may be.',
  direct_address_missing: 'The Direct address is missing.',
  direct_address_invalid: 'Not a Direct address.',
  patient_address: 'The address belongs to a patient and must not be published (DIR-03).',
  npi_invalid: 'The NPI does not have ten digits.',
  npi_rounded: 'A spreadsheet rounded the NPI (as in 1.23E+09): its last digits are lost.',
  action_unknown: 'The action is neither add, change nor remove.',
  duplicate: 'The key stood in an earlier row of the same file.',
  removal_in_full_load: 'A full load has nothing to remove.',
  removal_unknown: 'The record to be removed does not exist.',
  endpoint_row:
    'A row of the NPPES endpoint file, with its line there: misplaced quotes, or another number of columns.',
} as const;

export type RefusalReason = keyof typeof refusalReasons;

/** Warnings about a loaded row, for corrections in the source. */
export const warningReasons = {
  npi_check_digit: 'The NPI fails its check digit (DIR-05).',
  state_unknown: 'Unknown state.',
  zip_unknown: 'The ZIP code is not in the gazetteer.',
  zip_invalid: 'The ZIP code is not ##### or #####-#### and was left out.',
  zip_repaired:
    'The ZIP code had lost leading zeros or its hyphen, or had signs or a part that belong to none.',
  state_zip_disagree: 'The ZIP code lies in another state.',
  city_zip_disagree: 'The ZIP code lies far from the city.',
  coordinates_invalid: 'The coordinates are no point on earth and were replaced.',
  coordinates_missing: 'No place was found; the record is left out of radius searches.',
  not_ascii: 'The row has characters outside ASCII (DIR-02).',
  other_name_row:
    'A row of the NPPES file of other names, with its line there: misplaced quotes, or another number of columns.',
  unnamed_value: 'A value in a column without a name was left out.',
  phone_form: 'The telephone number is neither empty nor a number of ten digits (DIR-02).',
  phone_rounded:
    'A spreadsheet rounded the telephone number (as in 6.17E+09): its last digits are lost, and it was left out.',
} as const;

export type WarningReason = keyof typeof warningReasons;
