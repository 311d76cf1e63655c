import type { DirectoryForm, Provider } from '../../../app/console/contract/index.ts';

/** Labels of the filters of the native search. How a filter matches comes from the server's table. */
const labels: Readonly<Record<string, string>> = {
  prov_last_name: 'Last name',
  prov_other_names: 'Other names',
  prov_first_name: 'First name',
  prov_mid_name: 'Middle name',
  prov_suffix: 'Suffix',
  prov_npi: 'NPI',
  prov_spec_text: 'Specialty',
  serv_direct_addr: 'Direct address',
  org_name: 'Organization',
  org_addr_1: 'Street',
  org_city: 'City',
  org_state: 'State',
  org_zip: 'ZIP code',
  org_phone: 'Phone',
  radius: 'Distance',
  lat: 'Latitude',
  lng: 'Longitude',
};

/** Filters that are always shown, in this order; the others are shown on demand. */
const mainFilters: readonly string[] = [
  'prov_last_name',
  'prov_first_name',
  'prov_spec_text',
  'org_name',
  'org_city',
  'org_state',
  'org_zip',
];

export const numericFilters: ReadonlySet<string> = new Set(['prov_npi', 'org_zip', 'radius']);

export const verificationStates = [
  'trusted',
  'discoverable',
  'expired',
  'no-certificate',
  'unreachable',
  'unverified',
] as const;

export const pageSize = 50;

export type Search = Readonly<Record<string, string>>;

export function labelOf(name: string): string {
  return labels[name] ?? name;
}

/** The search in the address bar: its non-empty parameters. */
export function readSearch(parameters: URLSearchParams): Search {
  return Object.fromEntries([...parameters].filter(([, value]) => value.trim() !== ''));
}

/** The filters of the form, the most used first. */
export function orderFilters(form: DirectoryForm): {
  readonly main: DirectoryForm['filters'];
  readonly more: DirectoryForm['filters'];
} {
  const place = ({ name }: { readonly name: string }): number => mainFilters.indexOf(name);
  return {
    main: form.filters.filter((filter) => place(filter) >= 0).toSorted((a, b) => place(a) - place(b)),
    more: form.filters.filter((filter) => place(filter) < 0),
  };
}

const controls: ReadonlySet<string> = new Set(['sort_by', 'sort_order', 'offset', 'limit', 'radius']);
const centerFilters: ReadonlySet<string> = new Set(['org_zip', 'org_city', 'org_state']);

/** `last name Smith, within 25 miles of 60601`; empty for a search of everything. */
export function describeSearch(search: Search): string {
  const { radius, org_zip: zip, org_city: city, org_state: state } = search;
  const parts = Object.entries(search)
    .filter(([name]) => !controls.has(name) && (radius === undefined || !centerFilters.has(name)))
    .map(([name, value]) => `${lowerFirst(labelOf(name))} ${value}`);
  if (radius !== undefined)
    parts.push(`within ${radius} miles of ${zip ?? [city, state].filter(Boolean).join(', ')}`);
  return parts.join(', ');
}

function lowerFirst(text: string): string {
  return /^[A-Z]{2}/.test(text) ? text : text.charAt(0).toLowerCase() + text.slice(1);
}

/** `Garcia, Maria L, MD`, or the organization of a record without a person. */
export function nameOf({ values }: Pick<Provider, 'values'>): string {
  const given = [values['prov_first_name'], values['prov_mid_name']].filter(Boolean).join(' ');
  const name = [values['prov_last_name'], given, values['prov_suffix']].filter(Boolean).join(', ');
  return name === '' ? values['org_name'] || values['serv_direct_addr'] || '–' : name;
}

/** The display text of a coded specialty `OID:system:code:text`, or the free text as it is. */
export function specialtyOf(value: string | undefined): string {
  return /^[0-9.]+:[^:]*:[^:]*:(.+)$/.exec(value ?? '')?.[1] ?? value ?? '';
}

export function placeOf({ values }: Pick<Provider, 'values'>): string {
  return [[values['org_city'], values['org_state']].filter(Boolean).join(', '), values['org_zip']]
    .filter(Boolean)
    .join(' ');
}
