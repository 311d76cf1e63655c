/** The kinds of request that are timed over HTTP: for each as many as the directory gives. */
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import { recordsOfShape, type ShapeName } from './shapes.ts';

export interface HttpQuery {
  readonly name: string;
  /** As many different ones as there are, in a random order; what they look for is in the directory. */
  readonly distinct: readonly string[];
}

interface Kind {
  readonly name: string;
  /** The query of a user who searches for this record. */
  like(record: ProviderRecord): string;
}

const kinds: readonly Kind[] = [
  { name: 'no filter; any page', like: ({ id }) => `offset=${id}` },
  { name: 'NPI', like: ({ npi }) => query({ prov_npi: npi }) },
  {
    name: 'last name',
    like: ({ lastName, id }) => query({ prov_last_name: lastName, offset: id % 50 }),
  },
  {
    name: 'last name, first name and state',
    like: ({ lastName, firstName, state }) =>
      query({ prov_last_name: lastName, prov_first_name: firstName.slice(0, 2), org_state: state }),
  },
  {
    name: 'organization contains',
    like: ({ organization, id }) => query({ org_name: partOf(organization, id) }),
  },
  {
    name: 'specialty contains, state',
    like: ({ specialty, state, id }) => query({ prov_spec_text: partOf(specialty, id), org_state: state }),
  },
  {
    name: 'Direct address contains',
    like: ({ directAddress, id }) => query({ serv_direct_addr: partOf(directAddress, id) }),
  },
  {
    name: 'state by city',
    like: ({ state, id }) => query({ org_state: state, sort_by: 'org_city', offset: id % 5000 }),
  },
  {
    name: '25 miles around a ZIP',
    like: ({ zip }) => query({ org_zip: zip.slice(0, 5), radius: 25 }),
  },
  {
    name: '1000 miles around a city',
    like: ({ city, state }) => `${query({ org_city: city, org_state: state })}&radius=`,
  },
  {
    name: 'last name S, page of 1000; any such page',
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
export function httpQueries(records: number, shape: ShapeName): HttpQuery[] {
  const sample: ProviderRecord[] = [];
  const step = Math.max(1, Math.floor(records / distinctCount));
  let index = 0;
  for (const record of recordsOfShape(shape, records)) {
    if (index++ % step === 0 && record.lastName !== '' && record.npi !== '') sample.push(record);
  }
  return kinds.map(({ name, like }) => ({
    name,
    distinct: [...new Set(sample.map(like))],
  }));
}
