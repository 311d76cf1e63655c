import type { ProviderFilter } from '../../lib/provider-index/index.ts';
import { defaultPageSize, maxPageSize, maxRadiusMiles } from './limits.ts';
import { recordFields, type RecordField, type WireName } from './record-fields.ts';

/** A parameter that narrows the result by one text field. */
export interface FilterParameter extends RecordField {
  readonly name: WireName;
  readonly kind: 'filter';
  readonly match: ProviderFilter['match'];
  /** How the specification words the match, for the documentation. */
  readonly matchText: string;
  /** What a value must look like (in full), where the specification says so. */
  readonly form?: { readonly pattern: RegExp; readonly text: string };
  readonly isSortable: true;
}

/** A parameter that shapes the page or names the search area. */
export interface ControlParameter {
  readonly name: 'offset' | 'limit' | 'sort_by' | 'sort_order' | 'radius';
  readonly kind: 'paging' | 'sorting' | 'radius';
  readonly type: 'integer' | 'string';
  readonly description: string;
  readonly defaultValue?: number | string;
  readonly isSortable: boolean;
}

export type DirectoryParameter = FilterParameter | ControlParameter;

const controls: readonly ControlParameter[] = [
  {
    name: 'offset',
    kind: 'paging',
    type: 'integer',
    description: 'Zero-based starting point of the returned page.',
    defaultValue: 0,
    isSortable: false,
  },
  {
    name: 'limit',
    kind: 'paging',
    type: 'integer',
    description: `Maximum number of records in the page; values over ${maxPageSize} count as ${maxPageSize}.`,
    defaultValue: defaultPageSize,
    isSortable: false,
  },
  {
    name: 'sort_by',
    kind: 'sorting',
    type: 'string',
    description:
      'Comma-separated list of the parameters to sort by. With radius and without sort_by the nearest come first.',
    defaultValue: 'prov_npi',
    isSortable: false,
  },
  {
    name: 'sort_order',
    kind: 'sorting',
    type: 'string',
    description:
      '`ascending` or `descending`; also a comma-separated list as long as sort_by. ' +
      'With radius it needs sort_by: `sort_by=radius&sort_order=descending` shows the farthest first.',
    defaultValue: 'ascending',
    isSortable: false,
  },
];

type Matching = Pick<FilterParameter, 'match' | 'matchText' | 'form'>;

const startsWith: Matching = { match: 'prefix', matchText: 'Starts with.' };
const contains: Matching = { match: 'contains', matchText: 'Contains (partial match accepted).' };

const matching: Readonly<Record<WireName, Matching>> = {
  serv_direct_addr: contains,
  prov_npi: {
    match: 'exact',
    matchText: 'Must be 10 digits.',
    form: { pattern: /^[0-9]{10}$/, text: 'An NPI has exactly 10 digits.' },
  },
  prov_first_name: startsWith,
  prov_mid_name: startsWith,
  prov_last_name: startsWith,
  prov_spec_text: contains,
  prov_suffix: contains,
  org_name: contains,
  org_addr_1: contains,
  org_city: startsWith,
  org_state: { match: 'exact', matchText: 'Exact match.' },
  org_zip: {
    match: 'zip-prefix',
    matchText: 'Starts with; a hyphen is ignored. With radius: the center, then `#####` or `#####-####`.',
    form: {
      pattern: /^[0-9]{1,5}$|^[0-9]{5}-?[0-9]{0,4}$/,
      text: 'A ZIP code consists of up to nine digits.',
    },
  },
  org_phone: { match: 'phone-prefix', matchText: 'Starts with, on the text as stored or on its digits.' },
};

const filters: readonly FilterParameter[] = recordFields.map((field) => ({
  ...field,
  name: field.wireName,
  kind: 'filter',
  isSortable: true,
  ...matching[field.wireName],
}));

const radius: ControlParameter = {
  name: 'radius',
  kind: 'radius',
  type: 'integer',
  description:
    `Miles round a center: org_zip, or org_city together with org_state. At most ${maxRadiusMiles}, which also ` +
    'stands for an empty value.',
  isSortable: true,
};

/**
 * Every parameter of the search (Directory spec: Search providers). Parsing, messages, the query plan, the OpenAPI
 * document and the conformance test walk this list; a new filter is one entry in `recordFields` and one in `matching`.
 */
export const directoryParameters: readonly DirectoryParameter[] = [...controls, ...filters, radius];

export const filterParameters: readonly FilterParameter[] = filters;

/** Supplied parameters of one request: one value a name, never empty except for radius. */
export type SuppliedParameters = ReadonlyMap<string, string>;
