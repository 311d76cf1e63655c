import {
  formatOtherNames,
  textFields,
  type OtherName,
  type OtherNameKind,
  type TextField,
} from '../../../../lib/provider-record/index.ts';
import { DirectoryError } from '../../errors.ts';
import { partText } from '../blank-values.ts';
import type { RowDraft } from '../row.ts';
import { findColumn, joinLines, refuseRepeated, wantedColumns, type RowFormat } from './format.ts';
import type { NppesOtherNames } from './nppes-other-names.ts';
import type { NppesEndpoint, NppesEndpoints } from './nppes-endpoints.ts';

/** Display names of provider taxonomy codes, if the operator has the code set. */
export type TaxonomyNames = ReadonlyMap<string, string>;

/** The Health Care Provider Taxonomy code system (NUCC). */
export const taxonomyOid = '2.16.840.1.113883.6.101';

/** True if the header is that of the main file of the National Plan and Provider Enumeration System. */
export function isNppesHeader(header: readonly string[]): boolean {
  return header.includes('npi') && header.includes('entity_type_code');
}

/**
 * The public NPPES main file: one record for each Direct address that the endpoint file lists under the row's
 * NPI. Providers without a Direct address and deactivated ones are skipped; the address is that of the
 * practice, or that of the endpoint's affiliation where it has one.
 */
export function createNppesFormat(
  header: readonly string[],
  endpoints: NppesEndpoints,
  taxonomy: TaxonomyNames,
  otherNames: NppesOtherNames = { find: () => [] },
): RowFormat {
  const columns = { ...findColumns(header), taxonomies: findTaxonomies(header) };
  if (columns.npi < 0)
    throw new DirectoryError('DIRECTORY_FORMAT_UNKNOWN', 'The NPPES file has no NPI column');
  const { taxonomies, ...single } = columns;
  const wanted = wantedColumns(header.length, [
    ...Object.values(single),
    ...taxonomies.flatMap(({ code, isPrimary }) => [code, isPrimary]),
  ]);
  refuseRepeated(header, wanted);
  const coveredNpis = new Set<number>();
  return {
    name: 'nppes',
    wanted,
    coveredNpis,
    read(fields, line) {
      const npi = textAt(fields, columns.npi);
      const covered = Number(npi);
      // A record without an NPI counts as 0, and is of no row.
      if (covered > 0) coveredNpis.add(covered);
      const found = endpoints.find(npi);
      if (found.length === 0) return [];
      const isDeactivated = isLater(textAt(fields, columns.deactivated), textAt(fields, columns.reactivated));
      const base = readProvider(fields, columns, taxonomy, otherNames);
      return found.map((endpoint) => toDraft(base, endpoint, line, isDeactivated));
    },
  };
}

type Columns = ReturnType<typeof findColumns> & { readonly taxonomies: readonly TaxonomySlot[] };

interface TaxonomySlot {
  readonly code: number;
  readonly isPrimary: number;
}

/** A provider states up to fifteen codes, and which one is the primary one. */
function findTaxonomies(header: readonly string[]): readonly TaxonomySlot[] {
  return Array.from({ length: 15 }, (_, at) => ({
    code: findColumn(header, `healthcare_provider_taxonomy_code_${at + 1}`),
    isPrimary: findColumn(header, `healthcare_provider_primary_taxonomy_switch_${at + 1}`),
  })).filter(({ code }) => code >= 0);
}

function primaryTaxonomy(fields: readonly string[], slots: readonly TaxonomySlot[]): string {
  const stated = slots.filter(({ code }) => textAt(fields, code) !== '');
  const primary =
    stated.find(({ isPrimary }) => textAt(fields, isPrimary).toUpperCase() === 'Y') ?? stated[0];
  return primary === undefined ? '' : textAt(fields, primary.code);
}

function findColumns(header: readonly string[]) {
  const practice = 'provider_business_practice_location_address';
  return {
    npi: findColumn(header, 'npi'),
    organization: findColumn(header, 'provider_organization_name_legal_business_name'),
    lastName: findColumn(header, 'provider_last_name_legal_name'),
    firstName: findColumn(header, 'provider_first_name'),
    middleName: findColumn(header, 'provider_middle_name'),
    suffix: findColumn(header, 'provider_name_suffix_text'),
    credential: findColumn(header, 'provider_credential_text'),
    otherOrganization: findColumn(header, 'provider_other_organization_name'),
    otherLastName: findColumn(header, 'provider_other_last_name'),
    otherFirstName: findColumn(header, 'provider_other_first_name'),
    otherMiddleName: findColumn(header, 'provider_other_middle_name'),
    otherNameKind: findColumn(header, 'provider_other_last_name_type_code'),
    street: findColumn(header, 'provider_first_line_business_practice_location_address'),
    suite: findColumn(header, 'provider_second_line_business_practice_location_address'),
    city: findColumn(header, `${practice}_city_name`),
    state: findColumn(header, `${practice}_state_name`),
    zip: findColumn(header, `${practice}_postal_code`),
    phone: findColumn(header, `${practice}_telephone_number`),
    deactivated: findColumn(header, 'npi_deactivation_date'),
    reactivated: findColumn(header, 'npi_reactivation_date'),
  };
}

function readProvider(
  fields: readonly string[],
  columns: Columns,
  taxonomy: TaxonomyNames,
  otherNames: NppesOtherNames,
): Record<TextField, string> {
  const npi = textAt(fields, columns.npi);
  return {
    npi,
    firstName: textAt(fields, columns.firstName),
    middleName: textAt(fields, columns.middleName),
    lastName: textAt(fields, columns.lastName),
    suffix: textAt(fields, columns.suffix) || textAt(fields, columns.credential),
    directAddress: '',
    organization: withOthers(textAt(fields, columns.organization), [
      textAt(fields, columns.otherOrganization),
      ...otherNames.find(npi),
    ]),
    specialty: formatTaxonomy(primaryTaxonomy(fields, columns.taxonomies), taxonomy),
    street: joinLines(textAt(fields, columns.street), textAt(fields, columns.suite)),
    city: textAt(fields, columns.city),
    state: textAt(fields, columns.state),
    zip: textAt(fields, columns.zip),
    phone: textAt(fields, columns.phone),
    excluded: '',
    otherNames: readOtherName(fields, columns),
  };
}

/** Longer names of an organization refuse its row. */
const longestNames = 300;

/**
 * The names under which an organization does business, or had before, are found by a search for the
 * organization, too.
 */
function withOthers(legal: string, others: readonly string[]): string {
  const stated = [legal, ...others].map(partText).filter((name) => name !== '');
  const [first = '', ...further] = stated.filter(
    (name, at) => stated.findIndex((other) => other.toLowerCase() === name.toLowerCase()) === at,
  );
  let shown = '';
  for (const name of further) {
    const more = shown === '' ? name : `${shown}; ${name}`;
    if (first.length + more.length <= longestNames) shown = more;
  }
  return shown === '' ? first : `${first} (${shown})`;
}

/** By NPPES's codes of a person's other name; the others are those of organizations. */
const kindOfCode: ReadonlyMap<string, OtherNameKind> = new Map([
  ['1', 'former'],
  ['2', 'professional'],
]);

function readOtherName(fields: readonly string[], columns: Columns): string {
  const own = {
    firstName: textAt(fields, columns.firstName),
    lastName: textAt(fields, columns.lastName),
  };
  const given = [textAt(fields, columns.otherFirstName), textAt(fields, columns.otherMiddleName)];
  const other: OtherName = {
    kind: kindOfCode.get(textAt(fields, columns.otherNameKind)) ?? 'other',
    lastName: textAt(fields, columns.otherLastName),
    givenNames: given[0] === '' ? '' : given.join(' '),
  };
  return other.lastName === '' && other.givenNames === '' ? '' : formatOtherNames([other], own);
}

function formatTaxonomy(code: string, names: TaxonomyNames): string {
  return code === '' ? '' : `${taxonomyOid}:NUCC:${code}:${names.get(code) ?? ''}`;
}

function toDraft(
  base: Readonly<Record<TextField, string>>,
  endpoint: NppesEndpoint,
  line: number,
  isDeactivated: boolean,
): RowDraft {
  const place = endpoint.place ?? base;
  const texts: Record<TextField, string> = {
    ...base,
    directAddress: endpoint.directAddress,
    organization: endpoint.organization || base.organization,
    street: place.street,
    city: place.city,
    state: place.state,
    zip: place.zip,
  };
  return {
    line,
    texts: textFields.map((field) => texts[field]),
    latitude: '',
    longitude: '',
    key: '',
    action: isDeactivated ? 'remove' : '',
    isPatient: false,
  };
}

/** True for a date that no later one follows: month, day and year, or as ISO 8601 writes them. */
function isLater(deactivated: string, reactivated: string): boolean {
  return deactivated !== '' && plainDate(deactivated) > plainDate(reactivated);
}

function plainDate(date: string): string {
  const [, month = '', day = '', year] = /^([0-9]{1,2})\/([0-9]{1,2})\/([0-9]{4})$/.exec(date) ?? [];
  return year === undefined
    ? date.replaceAll('-', '')
    : `${year}${month.padStart(2, '0')}${day.padStart(2, '0')}`;
}

// NPPES writes `<UNAVAIL>` for values that it withholds.
function textAt(fields: readonly string[], column: number): string {
  const text = (fields[column] ?? '').trim();
  return text === '<UNAVAIL>' ? '' : text;
}
