/** The questions of the benchmark: each parameter alone and combined, broad and selective, sorted, paged, by radius. */
import type { SearchField } from '../../src/lib/provider-record/index.ts';
import { loadBuiltInGazetteer } from '../../src/lib/geo/index.ts';
import type { ProviderFilter, ProviderQuery, SortKey } from '../../src/lib/provider-index/index.ts';

export interface BenchQuery {
  readonly name: string;
  readonly query: ProviderQuery;
  /** Places the page at the very end once the count is known. */
  readonly isLastPage?: boolean;
  /** The parameters that name the center of the circle. */
  readonly center?: Readonly<Record<string, string>>;
}

const matchOf: Partial<Record<SearchField, ProviderFilter['match']>> = {
  npi: 'exact',
  state: 'exact',
  directAddress: 'contains',
  specialty: 'contains',
  suffix: 'contains',
  organization: 'contains',
  street: 'contains',
  zip: 'zip-prefix',
  phone: 'phone-prefix',
};

function filter(field: SearchField, value: string): ProviderFilter {
  return { field, value, match: matchOf[field] ?? 'prefix' };
}

interface Center {
  readonly center: Readonly<Record<string, string>>;
  readonly latitude: number;
  readonly longitude: number;
}

const gazetteer = loadBuiltInGazetteer();

function cityCenter(city: string, state: string): Center {
  return centerOf({ org_city: city, org_state: state }, gazetteer.findCity(city, state));
}

function centerOf(
  center: Center['center'],
  point: { latitude: number; longitude: number } | undefined,
): Center {
  if (point === undefined) throw new Error('the gazetteer does not know a center of the benchmark');
  return { center, latitude: point.latitude, longitude: point.longitude };
}

const austin = cityCenter('Austin', 'TX');
const newYork = cityCenter('New York', 'NY');
const anchorage = cityCenter('Anchorage', 'AK');
const manhattan = centerOf({ org_zip: '10001' }, gazetteer.findZip('10001'));
const montana = centerOf({ org_zip: '59087' }, gazetteer.findZip('59087'));

/** A search around a center; the rest is as for other queries. */
function within(
  miles: number,
  { center, latitude, longitude }: Center,
): Pick<BenchQuery, 'center'> & { readonly radius: NonNullable<ProviderQuery['radius']> } {
  return { center, radius: { latitude, longitude, miles } };
}

const single: readonly (readonly [SearchField, readonly string[]])[] = [
  ['npi', ['1999999999']],
  ['lastName', ['S', 'Smith', 'Smithx', 'Gar', 'o’brien', "O'Brien", 'Zzz']],
  ['firstName', ['J', 'Jam', 'José', 'Xq']],
  ['middleName', ['A', 'Mar']],
  ['suffix', ['M', 'MD', 'a', 'zz']],
  [
    'directAddress',
    [
      'a',
      'j',
      '7',
      'z',
      'an',
      'qz',
      'smi',
      'smith',
      'mercy',
      'john.smith',
      'clinic',
      '@direct',
      '@',
      's@direct',
      'smith@direct.',
      'example',
      '.example',
      'mercy73',
      'a1b2c3',
      'jennifer.rodriguez12',
    ],
  ],
  [
    'organization',
    [
      'a',
      'e',
      'z',
      'cl',
      'nic',
      'clinic',
      'health',
      'family medicine',
      'St. Joseph',
      'cardiology associate',
      'qqq',
      'physicians',
      'women’s',
    ],
  ],
  [
    'specialty',
    ['c', 'card', 'cardio', '207Q', 'Family Medicine', '2.16.840.1.113883.6.101', 'nothing here'],
  ],
  [
    'street',
    [
      '1',
      's',
      'x',
      'av',
      'st',
      'ave',
      'main',
      'avenue',
      'suite',
      'Main St',
      'Suite 100',
      'martin luther king j',
      'peachtree',
      '9999',
    ],
  ],
  ['city', ['S', 'New', 'Springfield', 'San Francisco', 'Qx']],
  ['state', ['TX', 'CA', 'WY', 'AE']],
  ['zip', ['7', '787', '78701', '78701-1', '00']],
  ['phone', ['5', '(512', '512', '512555', '+1', '(512) 555-01', '999999']],
];

const combined: readonly (readonly [string, readonly ProviderFilter[]])[] = [
  ['last S + TX', [filter('lastName', 'S'), filter('state', 'TX')]],
  ['last Smith + first J', [filter('lastName', 'Smith'), filter('firstName', 'J')]],
  ['last A + first A + state CA', [filter('lastName', 'A'), filter('firstName', 'A'), filter('state', 'CA')]],
  ['org clinic + TX', [filter('organization', 'clinic'), filter('state', 'TX')]],
  [
    'org health + spec cardio + city S',
    [filter('organization', 'health'), filter('specialty', 'cardio'), filter('city', 'S')],
  ],
  ['org a + street e', [filter('organization', 'a'), filter('street', 'e')]],
  ['address smith + org clinic', [filter('directAddress', 'smith'), filter('organization', 'clinic')]],
  [
    'street Main + city New + state NY',
    [filter('street', 'Main'), filter('city', 'New'), filter('state', 'NY')],
  ],
  ['spec Family + zip 7', [filter('specialty', 'Family'), filter('zip', '7')]],
  ['address @direct + last M', [filter('directAddress', '@direct'), filter('lastName', 'M')]],
  [
    'address e + org e + street e',
    [filter('directAddress', 'e'), filter('organization', 'e'), filter('street', 'e')],
  ],
  ['no common record', [filter('lastName', 'Smith'), filter('state', 'AE')]],
];

function ask(
  name: string,
  { center, ...parts }: Partial<ProviderQuery> & Pick<BenchQuery, 'center'>,
): BenchQuery {
  const query = { filters: [], sort: [], offset: 0, limit: 10, ...parts };
  return center === undefined ? { name, query } : { name, query, center };
}

/** Fields in ascending order, or in descending order with a minus sign in front. */
function sortOf(...fields: (SortKey['field'] | `-${SortKey['field']}`)[]): readonly SortKey[] {
  return fields.map((field) => ({
    field: field.replace('-', '') as SortKey['field'],
    isDescending: field.startsWith('-'),
  }));
}

/** All of them, or those whose name the regular expression fits. */
export function benchQueries(only = ''): BenchQuery[] {
  const pattern = new RegExp(only);
  return [
    ...singleQueries(),
    ...combinedQueries(),
    ...sortQueries(),
    ...pageQueries(),
    ...radiusQueries(),
  ].filter(({ name }) => pattern.test(name));
}

function singleQueries(): BenchQuery[] {
  return single.flatMap(([field, values]) =>
    values.map((value) => ask(`${field} "${value}"`, { filters: [filter(field, value)] })),
  );
}

function combinedQueries(): BenchQuery[] {
  return combined.map(([name, filters]) => ask(name, { filters }));
}

function sortQueries(): BenchQuery[] {
  const fields = single.map(([field]) => field);
  const lastS = [filter('lastName', 'S')];
  return [
    ...fields.flatMap((field) => [
      ask(`all by ${field}`, { sort: sortOf(field) }),
      ask(`all by ${field} descending`, { sort: sortOf(`-${field}`) }),
      ask(`last S by ${field}`, { filters: lastS, sort: sortOf(field) }),
      ask(`last S by ${field} descending`, { filters: lastS, sort: sortOf(`-${field}`) }),
    ]),
    ask('TX by city', { filters: [filter('state', 'TX')], sort: sortOf('city') }),
    ask('TX by zip', { filters: [filter('state', 'TX')], sort: sortOf('zip') }),
    ask('org clinic by city', { filters: [filter('organization', 'clinic')], sort: sortOf('city') }),
    ask('last S by state, city', { filters: lastS, sort: sortOf('state', 'city') }),
    ask('last S by state, city, last name', { filters: lastS, sort: sortOf('state', 'city', 'lastName') }),
    ask('all by state, city', { sort: sortOf('state', 'city') }),
    ask('all by last, first, middle', { sort: sortOf('lastName', 'firstName', 'middleName') }),
    ask('all by suffix, last descending', { sort: sortOf('-suffix', '-lastName') }),
    ask('org a by specialty, last, first', {
      filters: [filter('organization', 'a')],
      sort: sortOf('specialty', 'lastName', 'firstName'),
    }),
  ];
}

function pageQueries(): BenchQuery[] {
  const bases: readonly (readonly [string, Parameters<typeof ask>[1]])[] = [
    ['all', {}],
    ['all by last', { sort: sortOf('lastName') }],
    ['last S', { filters: [filter('lastName', 'S')] }],
    ['last S by city', { filters: [filter('lastName', 'S')], sort: sortOf('city') }],
    [
      'org clinic by last, first',
      { filters: [filter('organization', 'clinic')], sort: sortOf('lastName', 'firstName') },
    ],
    ['100 miles of Austin', within(100, austin)],
    ['1000 miles of Austin', within(1000, austin)],
  ];
  return bases.flatMap(([name, parts]) => [
    ask(`${name}, offset 1000`, { ...parts, offset: 1000 }),
    ask(`${name}, limit 1000`, { ...parts, limit: 1000 }),
    { ...ask(`${name}, last page`, parts), isLastPage: true },
  ]);
}

function radiusQueries(): BenchQuery[] {
  const centers = {
    Austin: austin,
    'New York': newYork,
    'ZIP 10001': manhattan,
    'ZIP 59087 in Montana': montana,
    Anchorage: anchorage,
  };
  const plain = Object.entries(centers).flatMap(([name, center]) =>
    [1, 10, 25, 100, 250, 1000].map((miles) => ask(`${miles} miles of ${name}`, within(miles, center))),
  );
  const wide = within(1000, austin);
  const near = within(50, newYork);
  return [
    ...plain,
    ask('50 miles of New York, last S', { ...near, filters: [filter('lastName', 'S')] }),
    ask('50 miles of New York, specialty cardio', { ...near, filters: [filter('specialty', 'cardio')] }),
    ask('50 miles of New York by last', { ...near, sort: sortOf('lastName') }),
    ask('1000 miles of Austin, last S', { ...wide, filters: [filter('lastName', 'S')] }),
    ask('1000 miles of Austin, org clinic', { ...wide, filters: [filter('organization', 'clinic')] }),
    ask('1000 miles of Austin, org a', { ...wide, filters: [filter('organization', 'a')] }),
    ask('1000 miles of Austin by last', { ...wide, sort: sortOf('lastName') }),
    ask('1000 miles of Austin by city descending', { ...wide, sort: sortOf('-city') }),
    ask('1000 miles of Austin, farthest first', { ...wide, sort: sortOf('-distance') }),
    ask('1000 miles of Austin by state, distance', { ...wide, sort: sortOf('state', 'distance') }),
  ];
}
