import { providerFields, textFields } from '../../../../lib/provider-record/index.ts';
import { findColumn, joinLines, refuseRepeated, wantedColumns, type RowFormat } from './format.ts';
import { blankNames, cellText } from '../blank-values.ts';
import { isPatientCategory } from './patient.ts';

const categoryNames = [
  'entity_category',
  'provider_healthcare_service_class',
  'organization_healthcare_service_class',
  'healthcare_service_class',
  'provider_role',
  'role',
];

const suiteNames = [
  'organization_address_line_2',
  'organization_address_line2',
  'organization_address_2',
] as const;
const street = textFields.indexOf('street');

/** True if the header is that of the aggregated directory (DIR-01). */
export function isDirectTrustHeader(header: readonly string[]): boolean {
  return providerFields.some(
    ({ field, directTrust }) =>
      field === 'directAddress' && directTrust.some((name) => header.includes(name)),
  );
}

/**
 * The aggregated directory of a trust organization (DIR-01): one row for each Direct address. The
 * organization's NPI is not the provider's: it is that of the record only if the row names no provider, so
 * that the address is the organization's own.
 */
export function createDirectTrustFormat(header: readonly string[]): RowFormat {
  const texts = providerFields.map(({ directTrust }) =>
    directTrust.map((name) => header.indexOf(name)).filter((at) => at >= 0),
  );
  const categories = categoryNames.map((name) => header.indexOf(name)).filter((at) => at >= 0);
  const [latitude, longitude] = [
    findColumn(header, 'latitude', 'lat'),
    findColumn(header, 'longitude', 'lng'),
  ];
  const valueOf = (fields: readonly string[], column: number): string => firstValue(fields, [column]);
  const action = findColumn(header, 'action');
  const organizationNpi = findColumn(header, 'organization_npi');
  const suite = findColumn(header, ...suiteNames);
  const wanted = wantedColumns(header.length, [
    ...texts.flat(),
    ...categories,
    latitude,
    longitude,
    action,
    organizationNpi,
    suite,
  ]);
  refuseRepeated(header, wanted);
  return {
    name: 'directtrust',
    wanted,
    read: (fields, line) => [
      {
        line,
        texts: ownNpi(
          texts.map((columns, field) =>
            field === street
              ? joinLines(firstValue(fields, columns, field), valueOf(fields, suite))
              : firstValue(fields, columns, field),
          ),
          firstValue(fields, [organizationNpi]),
        ),
        latitude: valueOf(fields, latitude),
        longitude: valueOf(fields, longitude),
        key: '',
        action: (fields[action] ?? '').trim().toLowerCase(),
        isPatient: categories.some((column) => isPatientCategory(fields[column] ?? '')),
      },
    ],
  };
}

function ownNpi(texts: string[], organizationNpi: string): string[] {
  const npi = textFields.indexOf('npi');
  blankNames(texts);
  const isPerson = ['firstName', 'lastName'].some(
    (name) => texts[textFields.indexOf(name as 'firstName')] !== '',
  );
  return texts[npi] === '' && !isPerson ? texts.with(npi, organizationNpi) : texts;
}

/** `field` is the place of the value among the text fields, if it is one. */
function firstValue(fields: readonly string[], columns: readonly number[], field = -1): string {
  for (const column of columns) {
    const value = fields[column]?.trim() ?? '';
    if (cellText(value, field) !== '') return value;
  }
  return '';
}
