import { DirectoryError } from '../../errors.ts';
import { partText } from '../blank-values.ts';
import { findColumn, joinLines, refuseRepeated, wantedColumns } from './format.ts';

/** One Direct address of a provider, with the affiliation's place if the file has one. */
export interface NppesEndpoint {
  readonly directAddress: string;
  readonly organization: string;
  readonly place?: {
    readonly street: string;
    readonly city: string;
    readonly state: string;
    readonly zip: string;
  };
}

/** The Direct addresses of the NPPES endpoint file, by NPI. */
export interface NppesEndpoints {
  readonly count: number;
  find(npi: string): readonly NppesEndpoint[];
}

/** True if the header is that of the NPPES endpoint file. */
export function isNppesEndpointHeader(header: readonly string[]): boolean {
  return header.includes('endpoint_type') && header.includes('endpoint');
}

/** Far more Direct addresses than any provider has; a load sets aside ids for so many a row. */
const maxEndpointsPerNpi = 1000;

const none: readonly NppesEndpoint[] = [];

/** Collects the entries of type DIRECT; other endpoints (FHIR, web sites, …) are skipped. */
export function createEndpointCollector(header: readonly string[]): NppesEndpoints & {
  readonly wanted: readonly boolean[];
  add(fields: readonly string[]): void;
} {
  const npi = findColumn(header, 'npi');
  const type = findColumn(header, 'endpoint_type');
  const endpoint = findColumn(header, 'endpoint');
  const organization = findColumn(header, 'affiliation_legal_business_name');
  const street = findColumn(header, 'affiliation_address_line_one');
  const suite = findColumn(header, 'affiliation_address_line_two');
  const city = findColumn(header, 'affiliation_address_city');
  const state = findColumn(header, 'affiliation_address_state');
  const zip = findColumn(header, 'affiliation_address_postal_code');
  if (npi < 0)
    throw new DirectoryError('DIRECTORY_FORMAT_UNKNOWN', 'The NPPES endpoint file has no NPI column');
  const wanted = wantedColumns(header.length, [
    npi,
    type,
    endpoint,
    organization,
    street,
    suite,
    city,
    state,
    zip,
  ]);
  refuseRepeated(header, wanted);
  const byNpi = new Map<string, NppesEndpoint[]>();
  let count = 0;
  return {
    wanted,
    get count() {
      return count;
    },
    find: (key) => byNpi.get(key) ?? none,
    add(fields) {
      if ((fields[type] ?? '').trim().toUpperCase() !== 'DIRECT') return;
      const place = {
        street: joinLines((fields[street] ?? '').trim(), (fields[suite] ?? '').trim()),
        city: partText(fields[city] ?? ''),
        state: partText(fields[state] ?? ''),
        zip: fields[zip] ?? '',
      };
      const name = partText(fields[organization] ?? '');
      const key = (fields[npi] ?? '').trim();
      const entries = byNpi.get(key) ?? [];
      byNpi.set(key, entries);
      for (const directAddress of addressesIn(fields[endpoint] ?? '')) {
        const entry: NppesEndpoint = {
          directAddress,
          organization: name,
          ...(place.city !== '' && place.state !== '' ? { place } : {}),
        };
        if (entries.length < maxEndpointsPerNpi && !entries.some((other) => isSame(other, entry)))
          entries.push(entry);
      }
      count++;
    },
  };
}

/** Providers type the endpoint themselves: as a mailto link, with a full stop, or several at once. */
function addressesIn(endpoint: string): readonly string[] {
  const found = endpoint
    .split(/[,;\s]+/)
    .map((part) => part.replace(/^mailto:/i, '').replace(/\.$/, ''))
    .filter((part) => part !== '');
  return found.length === 0 ? [''] : found;
}

function isSame(a: NppesEndpoint, b: NppesEndpoint): boolean {
  return a.directAddress.toLowerCase() === b.directAddress.toLowerCase();
}
