import type { Storage } from '../../../platform/index.ts';
import { findGroups } from '../merge/merge-changed.ts';
import { AddressTable } from '../records/address-table.ts';
import { textOf } from '../records/record-line.ts';
import { hashAddress, seedOf } from '../store/provisioned.ts';
import { listSources, readChains } from '../store/sources.ts';
import { loadState } from '../store/state.ts';
import type { DirectoryTables } from '../store/tables.ts';

/** Whose an address is, as a source has it. */
export interface NamedOwner {
  readonly npi: string;
  readonly source: string;
}

/**
 * The owners of some addresses by NPI that sources name, in order of precedence, by lower-cased address.
 * Reads a few blocks for a few addresses, and the keys of all for more.
 */
export async function findNamedOwners(
  storage: Storage,
  addressKeys: readonly string[],
): Promise<ReadonlyMap<string, readonly NamedOwner[]>> {
  const owners = new Map<string, NamedOwner[]>();
  if (addressKeys.length === 0) return owners;
  const db = storage.tables<DirectoryTables>();
  const seed = seedOf((await loadState(storage)).secret);
  const sources = await readChains(db, await listSources(db));
  const addresses = new AddressTable();
  const hash = { low: 0, high: 0 };
  for (const key of addressKeys) {
    hashAddress(key, '', seed, hash);
    addresses.obtain(hash.low);
  }
  const wanted = new Set(addressKeys);
  for (const { said } of await findGroups({ db, sources, base: [], addresses, seed }))
    for (const { line, rank } of said.toSorted((a, b) => a.rank - b.rank)) {
      const key = textOf(line, 'directAddress').toLowerCase();
      const npi = textOf(line, 'npi');
      const known = owners.get(key) ?? [];
      if (npi === '' || !wanted.has(key) || known.some((owner) => owner.npi === npi)) continue;
      owners.set(key, [...known, { npi, source: sources[rank]?.source.name ?? '' }]);
    }
  return owners;
}
