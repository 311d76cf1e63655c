import {
  firstRowOf,
  hashOfEntity,
  isFirstRow,
  ownedRows,
  type EntityHash,
  type EntitySeed,
  type ProviderIndex,
  type SharedEntities,
} from '../../../lib/provider-index/index.ts';
import type { ProviderRecord } from '../../../lib/provider-record/index.ts';

/** True for a record whose NPI is that of its organization: it names no person. */
export function hasOwnNpi({ npi, lastName, organization }: ProviderRecord): boolean {
  return npi !== '' && lastName === '' && organization !== '';
}

/**
 * The own NPIs of the organizations of some rows, in ascending order, by the id of the row's record. A page
 * of organizations has hundreds of rows, so that most are not read: the place of an organization among all
 * of them has the rows of its NPIs.
 */
export function readOwnNpis(
  index: ProviderIndex,
  rows: Uint32Array,
  entities: SharedEntities,
): ReadonlyMap<number, readonly string[]> {
  const found = new Map<number, readonly string[]>();
  const { organization: arrays, seed } = entities;
  const added = addedNpis(index, entities);
  if (arrays.owned.length === 0 && added.size === 0) return found;
  for (const row of rows) {
    const [key, first] = isFirstRow(arrays, row) ? [row, row] : findFirst(index.record(row), arrays, seed);
    const own = first === undefined ? [] : ownedRows(arrays, first);
    const more = key === undefined ? undefined : added.get(key);
    if (own.length === 0 && more === undefined) continue;
    const npis: string[] = [...(more ?? [])];
    for (const one of own) {
      const npi = index.npiOf(one);
      if (npi !== '') npis.push(npi);
    }
    if (npis.length > 0) found.set(index.idOf(row), npis.length === 1 ? npis : [...new Set(npis)].toSorted());
  }
  return found;
}

/** An organization by its first row as the index was built, or by its hash if it has come since. */
type OrganizationKey = number | string;

function findFirst(
  record: ProviderRecord,
  arrays: SharedEntities['organization'],
  seed: EntitySeed,
): readonly [key: OrganizationKey | undefined, first: number | undefined] {
  const hash = hashOfEntity(record, 'organization', seed);
  if (hash === undefined) return [undefined, undefined];
  const first = firstRowOf(arrays, hash);
  return [first ?? keyOf(hash), first];
}

const newcomers = new WeakMap<ProviderIndex, ReadonlyMap<OrganizationKey, ReadonlySet<string>>>();

/** Of records that were added since the index was built, by organization. */
function addedNpis(
  index: ProviderIndex,
  { organization: arrays, seed }: SharedEntities,
): ReadonlyMap<OrganizationKey, ReadonlySet<string>> {
  const known = newcomers.get(index);
  if (known !== undefined) return known;
  const owners = new Map<OrganizationKey, Set<string>>();
  const { rowLimit, stableRows } = index.addresses;
  for (let row = stableRows; row < rowLimit; row++) {
    const record = index.record(row);
    const [key] = hasOwnNpi(record) ? findFirst(record, arrays, seed) : [];
    if (key !== undefined) owners.set(key, (owners.get(key) ?? new Set()).add(record.npi));
  }
  newcomers.set(index, owners);
  return owners;
}

export function keyOf({ high, low }: EntityHash): string {
  return `${high}-${low}`;
}
