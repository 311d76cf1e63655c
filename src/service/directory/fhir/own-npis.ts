import { filtersOfEntity, type ProviderIndex } from '../../../lib/provider-index/index.ts';
import type { ProviderRecord } from '../../../lib/provider-record/index.ts';

/** True for a record whose NPI is that of its organization: it names no person. */
export function hasOwnNpi({ npi, lastName, organization }: ProviderRecord): boolean {
  return npi !== '' && lastName === '' && organization !== '';
}

/** Records of an organization that are looked at; those with an NPI come first. */
const maxRecords = 100;

/** The own NPIs of the organizations of some rows, in ascending order, keyed by the id of the row's record. */
export function readOwnNpis(index: ProviderIndex, rows: Uint32Array): ReadonlyMap<number, readonly string[]> {
  const found = new Map<number, readonly string[]>();
  if (rows.length === 0 || !hasAny(index)) return found;
  for (const row of rows) {
    const record = index.record(row);
    if (record.organization === '') continue;
    const filters = [...filtersOfEntity(record, 'organization'), unnamed];
    const own = index.search({ filters, sort: [], offset: 0, limit: maxRecords });
    const npis = Array.from(own.rows, (each) => index.record(each))
      .filter(hasOwnNpi)
      .map(({ npi }) => npi);
    if (npis.length > 0) found.set(record.id, [...new Set(npis)].toSorted());
  }
  return found;
}

const unnamed = { field: 'lastName', match: 'exact', value: '' } as const;

/** Most directories have NPIs of persons alone. */
function hasAny(index: ProviderIndex): boolean {
  const numbered = [...'1234567890'].map((value) => [{ field: 'npi', match: 'prefix', value } as const]);
  return (
    index.search({ filters: [unnamed], alternatives: [numbered], sort: [], offset: 0, limit: 0 }).totalCount >
    0
  );
}
