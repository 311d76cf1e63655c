import { AddressTable } from '../records/address-table.ts';
import { KeyTable } from '../records/key-table.ts';
import { readEntryKeys } from '../store/entry-keys.ts';
import { countEntries } from '../store/generation.ts';
import type { HashSeed } from '../store/provisioned.ts';
import type { SourceChain } from '../store/sources.ts';
import type { DirectoryDb } from '../store/state.ts';
import type { LoadRow } from '../store/tables.ts';
import { readPairs } from './live-entries.ts';

/** The loads of a source that only one of two generations has. */
export interface SourceDifference {
  readonly before: readonly LoadRow[];
  readonly after: readonly LoadRow[];
}

/** Sources whose generation changes. */
export function compareSources(
  before: readonly SourceChain[],
  after: readonly SourceChain[],
): readonly SourceDifference[] {
  const names = new Set([...before, ...after].map(({ source }) => source.name));
  const chainOf = (chains: readonly SourceChain[], name: string): readonly LoadRow[] =>
    chains.find(({ source }) => source.name === name)?.chain ?? [];
  return [...names]
    .map((name) => ({ before: chainOf(before, name), after: chainOf(after, name) }))
    .filter((difference) => changedLoads(difference).length > 0);
}

function changedLoads({ before, after }: SourceDifference): LoadRow[] {
  const isIn = (chain: readonly LoadRow[], load: LoadRow): boolean => chain.some(({ id }) => id === load.id);
  return [...before.filter((load) => !isIn(after, load)), ...after.filter((load) => !isIn(before, load))];
}

/** Entries that must be read for the differences. */
export function countChangedEntries(
  db: DirectoryDb,
  differences: readonly SourceDifference[],
): Promise<number> {
  return countEntries(db, differences.flatMap(changedLoads));
}

/** The addresses of all records that may differ between the generations. */
export async function findChangedAddresses(
  db: DirectoryDb,
  differences: readonly SourceDifference[],
  seed: HashSeed,
): Promise<AddressTable> {
  const addresses = new AddressTable();
  for (const difference of differences) {
    const keys = new KeyTable();
    for (const load of changedLoads(difference)) {
      for await (const block of readEntryKeys(db, load))
        for (let at = 0; at < block.keys.length; at += 4)
          note(keys, block.keys[at] as number, block.keys[at + 1] as number);
    }
    const loads = new Map([...difference.before, ...difference.after].map((load) => [load.id, load]));
    // Without keys of a file they are those of addresses.
    if ([...loads.values()].every((load) => load.file_keys === 0))
      keys.forEachKey((low) => addresses.obtain(low));
    else for (const load of loads.values()) await addAddressesOf(db, load, keys, seed, addresses);
  }
  return addresses;
}

async function addAddressesOf(
  db: DirectoryDb,
  load: LoadRow,
  changed: KeyTable,
  seed: HashSeed,
  out: AddressTable,
): Promise<void> {
  for await (const { keys, pairs, pairStride, entryCount } of readPairs(db, load, seed)) {
    for (let entry = 0; entry < entryCount; entry++) {
      const low = keys[entry * 4] as number;
      const high = keys[entry * 4 + 1] as number;
      if (keys[entry * 4 + 2] === 0 || changed.find(low, high) < 0) continue;
      out.obtain(pairs[entry * pairStride] as number);
    }
  }
}

/** The addresses of every record of some loads. */
export async function findAllAddresses(
  db: DirectoryDb,
  loads: readonly LoadRow[],
  seed: HashSeed,
): Promise<AddressTable> {
  const addresses = new AddressTable();
  for (const load of loads) {
    for await (const { keys, pairs, pairStride, entryCount } of readPairs(db, load, seed)) {
      for (let entry = 0; entry < entryCount; entry++)
        if (keys[entry * 4 + 2] !== 0) addresses.obtain(pairs[entry * pairStride] as number);
    }
  }
  return addresses;
}

function note(table: KeyTable, low: number, high: number): void {
  if (table.find(low, high) < 0) table.add(low, high, 1, 0, true);
}
