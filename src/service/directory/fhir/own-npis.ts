import {
  hashOfEntity,
  ownedRows,
  type EntityHash,
  type ProviderIndex,
  type SharedEntities,
} from '../../../lib/provider-index/index.ts';
import type { ProviderRecord } from '../../../lib/provider-record/index.ts';

/** True for a record whose NPI is that of its organization: it names no person. */
export function hasOwnNpi({ npi, lastName, organization }: ProviderRecord): boolean {
  return npi !== '' && lastName === '' && organization !== '';
}

/**
 * The own NPIs of the organizations of some rows, in ascending order, keyed by the id of the row's record.
 */
export function readOwnNpis(
  index: ProviderIndex,
  rows: Uint32Array,
  entities: SharedEntities,
): ReadonlyMap<number, readonly string[]> {
  const found = new Map<number, readonly string[]>();
  const added = addedNpis(index, entities);
  if (entities.organization.owned.length === 0 && added.size === 0) return found;
  for (const row of rows) {
    const record = index.record(row);
    const hash = hashOfEntity(record, 'organization', entities.seed);
    if (hash === undefined) continue;
    const npis = new Set(added.get(keyOf(hash)));
    for (const own of ownedRows(entities.organization, hash)) {
      const { id, npi } = index.record(own);
      // Since the index was built the record may have been removed or changed.
      if (index.findById(id) === own) npis.add(npi);
    }
    if (npis.size > 0) found.set(record.id, [...npis].toSorted());
  }
  return found;
}

const newcomers = new WeakMap<ProviderIndex, ReadonlyMap<string, ReadonlySet<string>>>();

/** Of records that were added since the index was built, by organization. */
function addedNpis(index: ProviderIndex, { seed }: SharedEntities): ReadonlyMap<string, ReadonlySet<string>> {
  const known = newcomers.get(index);
  if (known !== undefined) return known;
  const owners = new Map<string, Set<string>>();
  const { rowLimit, stableRows } = index.addresses;
  for (let row = stableRows; row < rowLimit; row++) {
    const record = index.record(row);
    const hash = hasOwnNpi(record) ? hashOfEntity(record, 'organization', seed) : undefined;
    if (hash === undefined) continue;
    const key = keyOf(hash);
    owners.set(key, (owners.get(key) ?? new Set()).add(record.npi));
  }
  newcomers.set(index, owners);
  return owners;
}

export function keyOf({ high, low }: EntityHash): string {
  return `${high}-${low}`;
}
