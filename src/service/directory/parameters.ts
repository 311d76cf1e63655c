import {
  shownFields,
  type FilterMatch,
  type ProviderField,
  type SearchField,
  type WireName,
} from '../../lib/provider-record/index.ts';
import { defaultPageSize, maxPageSize, maxRadiusMiles } from './limits.ts';

/** A parameter that narrows the result by one text field. */
export interface FilterParameter extends ProviderField {
  readonly field: SearchField;
  readonly wireName: WireName;
  readonly name: WireName;
  readonly kind: 'filter';
  /** The specification's description of the match, for the documentation. */
  readonly matchText: string;
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
    // No `defaultValue`: clients that send the defaults of the document would not get the nearest first.
    description:
      'Comma-separated list of the parameters to sort by. Without it the order is that of prov_npi; with radius, the nearest come first.',
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

const matchTexts: Readonly<Record<FilterMatch, string>> = {
  exact: 'Exact match.',
  prefix: 'Starts with.',
  contains: 'Contains (partial match accepted).',
  'name-prefix': 'Starts with; an apostrophe or hyphen may be left out.',
  'text-contains': 'Contains (partial match accepted); an apostrophe or hyphen may be left out.',
  'city-prefix': 'Starts with; also in the spellings of a center: St and Saint, Ft and Fort, N and North.',
  'zip-prefix': 'Starts with; a hyphen is ignored.',
  'phone-prefix': 'Starts with, on the text as stored or on its digits, with or without a leading 1.',
};

const filters: readonly FilterParameter[] = shownFields.map((field) => ({
  matchText: matchTexts[field.match],
  ...field,
  name: field.wireName,
  kind: 'filter',
  isSortable: true,
}));

const radius: ControlParameter = {
  name: 'radius',
  kind: 'radius',
  type: 'integer',
  description:
    `Radius in miles around a center: org_zip, or org_city together with org_state. At most ${maxRadiusMiles}, which also ` +
    'applies if the value is empty.',
  isSortable: true,
};

/**
 * Every parameter of the search (Directory spec: Search providers). Parsing, messages, the query plan, the
 * OpenAPI document and the conformance test walk this list; a new filter is one entry in the table of fields.
 */
export const directoryParameters: readonly DirectoryParameter[] = [...controls, ...filters, radius];

export const filterParameters: readonly FilterParameter[] = filters;

/** Supplied parameters of one request: one value a name, never empty except for radius. */
export type SuppliedParameters = ReadonlyMap<string, string>;
