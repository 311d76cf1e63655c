/**
 * Everything that is known of the text fields of a provider record, in the order in which they are shown
 * (Directory spec: Provider record). Index, stored blocks, file formats, parameters and answers follow from
 * this table: a new field is one entry, with the next number as `since`.
 */

/** The comparison of a filter's value with a field, always on folded text (Decision 0003). */
export type FilterMatch =
  | 'exact'
  | 'prefix'
  | 'contains'
  /** As `prefix`; an apostrophe or hyphen may be left out (Decision 0003). */
  | 'name-prefix'
  /** As `contains`, likewise. */
  | 'text-contains'
  /** As `prefix`; a city is also found as the center of a radius is (Decision 0004). */
  | 'city-prefix'
  /** Ignores hyphens on both sides (Decision 0002). */
  | 'zip-prefix'
  /**
   * The raw text or, for a value of digits and telephone punctuation, the digits of both sides without a
   * leading 1 (Decision 0002).
   */
  | 'phone-prefix';

export interface ProviderField {
  /** The name inside. */
  readonly field: string;
  /** The name of the parameter, of the value in an answer and of the column in our own files. */
  readonly wireName: string;
  readonly match: FilterMatch;
  /** Description of the match for the documentation, where the kind of match is not enough. */
  readonly matchText?: string;
  /** Pattern for the whole value of a filter. */
  readonly form?: { readonly pattern: RegExp; readonly text: string };
  readonly description: string;
  readonly example: string;
  /** Column names of the aggregated directory (DIR-01); later ones stand in for blank values. */
  readonly directTrust: readonly string[];
  /** The version of stored records that first has the field. */
  readonly since: number;
  /**
   * Kept with the record and filled like the others, but no field of the specification: not a parameter, and
   * not sorted by.
   */
  readonly isInternal?: true;
}

export const providerFields = [
  {
    field: 'npi',
    wireName: 'prov_npi',
    match: 'exact',
    matchText: 'Must be 10 digits.',
    form: { pattern: /^[0-9]{10}$/, text: 'An NPI has exactly 10 digits.' },
    description: '10-digit NPI of the provider.',
    example: '1234567893',
    directTrust: ['provider_npi'],
    since: 1,
  },
  {
    field: 'firstName',
    wireName: 'prov_first_name',
    match: 'name-prefix',
    description: 'First name.',
    example: 'Renée',
    directTrust: ['provider_first_name'],
    since: 1,
  },
  {
    field: 'middleName',
    wireName: 'prov_mid_name',
    match: 'name-prefix',
    description: 'Middle name.',
    example: 'Q',
    directTrust: ['provider_middle_name'],
    since: 1,
  },
  {
    field: 'lastName',
    wireName: 'prov_last_name',
    match: 'name-prefix',
    description: 'Last name.',
    example: "O'Brien",
    directTrust: ['provider_last_name'],
    since: 1,
  },
  {
    field: 'suffix',
    wireName: 'prov_suffix',
    match: 'text-contains',
    description: 'Provider suffix.',
    example: 'MD',
    directTrust: ['provider_suffix', 'provider_name_suffix'],
    since: 1,
  },
  {
    field: 'directAddress',
    wireName: 'serv_direct_addr',
    match: 'contains',
    description: 'Direct address of the account.',
    example: 'renee.obrien@direct.clinic.example',
    directTrust: ['service_direct_address', 'direct_address'],
    since: 1,
  },
  {
    field: 'organization',
    wireName: 'org_name',
    match: 'text-contains',
    description: 'Organization name.',
    example: 'Example Clinic',
    directTrust: ['organization_name'],
    since: 1,
  },
  {
    field: 'specialty',
    wireName: 'prov_spec_text',
    match: 'text-contains',
    description:
      'Specialization: free text, or a coded value `<code-system-OID>:<code-system-name>:<code>:<display text>`.',
    example: '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease',
    directTrust: ['provider_specialty', 'organization_specialty', 'service_description'],
    since: 1,
  },
  {
    field: 'street',
    wireName: 'org_addr_1',
    match: 'text-contains',
    description: 'Street address.',
    example: '12 Main St',
    directTrust: [
      'organization_address_line_1',
      'organization_address_line1',
      'organization_address_1',
      'organization_address',
    ],
    since: 1,
  },
  {
    field: 'city',
    wireName: 'org_city',
    match: 'city-prefix',
    description: 'City.',
    example: 'Boston',
    directTrust: ['organization_city'],
    since: 1,
  },
  {
    field: 'state',
    wireName: 'org_state',
    match: 'exact',
    description: 'State abbreviation (two letters).',
    example: 'MA',
    directTrust: ['organization_state'],
    since: 1,
  },
  {
    field: 'zip',
    wireName: 'org_zip',
    match: 'zip-prefix',
    matchText: 'Starts with; a hyphen is ignored. With radius: the center, then `#####` or `#####-####`.',
    form: {
      pattern: /^[0-9]{1,5}$|^[0-9]{5}-?[0-9]{0,4}$/,
      text: 'A ZIP code consists of up to nine digits.',
    },
    description: 'ZIP code, `#####` or `#####-####`.',
    example: '02114-1234',
    directTrust: ['organization_postal_code', 'organization_zip'],
    since: 1,
  },
  {
    field: 'phone',
    wireName: 'org_phone',
    match: 'phone-prefix',
    description: 'Telephone, free format.',
    example: '(617) 555-0123',
    directTrust: ['organization_phone', 'organization_phone_number'],
    since: 1,
  },
  {
    field: 'excluded',
    wireName: 'prov_excluded',
    match: 'exact',
    description: '`true` for a provider on the exclusion list of HHS.',
    example: 'true',
    directTrust: [],
    since: 1,
    isInternal: true,
  },
  {
    field: 'otherNames',
    wireName: 'prov_other_names',
    match: 'exact',
    description:
      'Former, professional and other names of a person, each with its kind; given names only where they differ. Absent without one.',
    example: 'Smith (former)',
    directTrust: [],
    since: 1,
    isInternal: true,
  },
] as const satisfies readonly ProviderField[];

type Entry = (typeof providerFields)[number];
type ShownEntry = Exclude<Entry, { readonly isInternal: true }>;

/** The fields of the specification: in answers, parameters and their documentation. */
export const shownFields: readonly ShownEntry[] = providerFields.filter(
  (entry: Entry): entry is ShownEntry => !('isInternal' in entry),
);

export type TextField = Entry['field'];
/** A field that can be searched and sorted by. */
export type SearchField = ShownEntry['field'];
export type WireName = ShownEntry['wireName'];

export const searchFields: readonly SearchField[] = shownFields.map(({ field }) => field);

export const textFields: readonly TextField[] = providerFields.map(({ field }) => field);

/** One directory entry. Absent text is the empty string; coordinates are decimal degrees. */
export interface ProviderRecord extends Readonly<Record<TextField, string>> {
  readonly id: number;
  readonly latitude?: number;
  readonly longitude?: number;
  /**
   * Time of the last change of the served record: seconds since 1970. Absent: with the load that an index is
   * made of.
   */
  readonly changedAt?: number;
}
