/** The kinds of request that are timed over HTTP: for each the one that is asked again and again, and others like it. */
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import { generateProviders } from '../../src/app/dev/sample-directory.ts';
import type { Gazetteer } from '../../src/lib/geo/index.ts';

export interface HttpQuery {
  readonly name: string;
  /** The query string that is repeated. */
  readonly repeated: string;
  /** As many different ones as there are, in a random order; what they look for is in the directory. */
  readonly distinct: readonly string[];
}

interface Kind {
  readonly name: string;
  readonly repeated: string;
  /** What somebody who looks for this record would send. */
  like(record: ProviderRecord): string;
}

const kinds: readonly Kind[] = [
  { name: 'no filter; any page', repeated: '', like: ({ id }) => `offset=${id}` },
  { name: 'NPI', repeated: 'prov_npi=1999999999', like: ({ npi }) => query({ prov_npi: npi }) },
  {
    name: 'last name',
    repeated: 'prov_last_name=Smith',
    like: ({ lastName, id }) => query({ prov_last_name: lastName, offset: id % 50 }),
  },
  {
    name: 'last name, first name and state',
    repeated: 'prov_last_name=Smith&prov_first_name=J&org_state=TX',
    like: ({ lastName, firstName, state }) =>
      query({ prov_last_name: lastName, prov_first_name: firstName.slice(0, 2), org_state: state }),
  },
  {
    name: 'organization contains',
    repeated: 'org_name=clinic',
    like: ({ organization, id }) => query({ org_name: partOf(organization, id) }),
  },
  {
    name: 'specialty contains, state',
    repeated: 'prov_spec_text=cardio&org_state=TX',
    like: ({ specialty, state, id }) => query({ prov_spec_text: partOf(specialty, id), org_state: state }),
  },
  {
    name: 'Direct address contains',
    repeated: 'serv_direct_addr=smith',
    like: ({ directAddress, id }) => query({ serv_direct_addr: partOf(directAddress, id) }),
  },
  {
    name: 'state by city',
    repeated: 'org_state=TX&sort_by=org_city',
    like: ({ state, id }) => query({ org_state: state, sort_by: 'org_city', offset: id % 5000 }),
  },
  {
    name: '25 miles round a ZIP',
    repeated: 'org_zip=78701&radius=25',
    like: ({ zip }) => query({ org_zip: zip.slice(0, 5), radius: 25 }),
  },
  {
    name: '1000 miles round a city',
    repeated: 'org_city=Chicago&org_state=IL&radius=',
    like: ({ city, state }) => `${query({ org_city: city, org_state: state })}&radius=`,
  },
  {
    name: 'last name S, page of 1000; any such page',
    repeated: 'prov_last_name=S&limit=1000',
    like: ({ lastName, id }) =>
      query({ prov_last_name: lastName.slice(0, 1), limit: 1000, offset: id % 100_000 }),
  },
];

function query(parameters: Readonly<Record<string, string | number>>): string {
  return new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
}

/** Six to nine characters from somewhere inside, which `choice` decides. */
function partOf(text: string, choice: number): string {
  const start = text.length <= 6 ? 0 : choice % (text.length - 5);
  return text.slice(start, start + 6 + (choice % 4));
}

const distinctCount = 20_000;

/** Made from records of the benchmark's directory, so that common things are asked for commonly. */
export function httpQueries(records: number, seed: number, gazetteer: Gazetteer): HttpQuery[] {
  const sample: ProviderRecord[] = [];
  const step = Math.max(1, Math.floor(records / distinctCount));
  let index = 0;
  for (const record of generateProviders({ count: records, seed, gazetteer })) {
    if (index++ % step === 0 && record.lastName !== '' && record.npi !== '') sample.push(record);
  }
  return kinds.map(({ name, repeated, like }) => ({
    name,
    repeated,
    distinct: [...new Set(sample.map(like))],
  }));
}
