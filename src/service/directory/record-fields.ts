import type { TextField } from '../../lib/provider-index/index.ts';

/** One text field of the provider record: its name on the wire and inside. */
export interface RecordField {
  readonly wireName: string;
  readonly field: TextField;
  readonly description: string;
  readonly example: string;
}

/**
 * The text fields of a provider record in the order in which they are shown (Directory spec: Provider record).
 * `id` comes before them; `lat`, `lng` and, with radius, `distance` come after them.
 */
export const recordFields = [
  { wireName: 'prov_npi', field: 'npi', description: '10-digit NPI of the provider.', example: '1234567893' },
  { wireName: 'prov_first_name', field: 'firstName', description: 'First name.', example: 'Renée' },
  { wireName: 'prov_mid_name', field: 'middleName', description: 'Middle name.', example: 'Q' },
  { wireName: 'prov_last_name', field: 'lastName', description: 'Last name.', example: "O'Brien" },
  { wireName: 'prov_suffix', field: 'suffix', description: 'Provider suffix.', example: 'MD' },
  {
    wireName: 'serv_direct_addr',
    field: 'directAddress',
    description: 'Direct address of the account.',
    example: 'renee.obrien@direct.clinic.example',
  },
  {
    wireName: 'org_name',
    field: 'organization',
    description: 'Organization name.',
    example: 'Example Clinic',
  },
  {
    wireName: 'prov_spec_text',
    field: 'specialty',
    description:
      'Specialization: free text, or a coded value `<code-system-OID>:<code-system-name>:<code>:<display text>`.',
    example: '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease',
  },
  { wireName: 'org_addr_1', field: 'street', description: 'Street address.', example: '12 Main St' },
  { wireName: 'org_city', field: 'city', description: 'City.', example: 'Boston' },
  { wireName: 'org_state', field: 'state', description: 'State abbreviation (two letters).', example: 'MA' },
  {
    wireName: 'org_zip',
    field: 'zip',
    description: 'ZIP code, `#####` or `#####-####`.',
    example: '02114-1234',
  },
  {
    wireName: 'org_phone',
    field: 'phone',
    description: 'Telephone, free format.',
    example: '(617) 555-0123',
  },
] as const satisfies readonly RecordField[];

export type WireName = (typeof recordFields)[number]['wireName'];
