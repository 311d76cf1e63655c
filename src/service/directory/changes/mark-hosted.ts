import { setImmediate as nextTurn } from 'node:timers/promises';
import { readKeys, readLines } from '../records/block.ts';
import { textOf } from '../records/record-line.ts';
import { readBlock } from '../store/generation.ts';
import { hashHosted, hideOwnerless, type HashSeed } from '../store/provisioned.ts';
import type { SnapshotName } from '../store/snapshot-files.ts';
import type { DirectoryDb } from '../store/state.ts';
import type { LoadRow } from '../store/tables.ts';
import type { ChangedKeys } from './changed-keys.ts';

/** Addresses asked for at once. */
const addressesPerRead = 500;

/**
 * Marks the keys of increments that a hosted record has had since the base or longer: it counts instead of
 * them. Found by address, of which only the lines of the increments know. A removal has no line, and removes
 * nothing that the hosted record has not hidden.
 */
export async function markHosted(
  db: DirectoryDb,
  base: SnapshotName,
  increments: readonly LoadRow[],
  seed: HashSeed,
  changed: ChangedKeys,
): Promise<void> {
  for (const load of increments) {
    for (let sequence = 0; sequence < load.block_count; sequence++) {
      const block = await readBlock(db, load.id, sequence);
      const keys = readKeys(block);
      const addresses = readLines(block).flatMap((line, entry) =>
        keys[entry * 4 + 2] === 0 ? [] : [textOf(line, 'directAddress').toLowerCase()],
      );
      for (let start = 0; start < addresses.length; start += addressesPerRead)
        await markAddresses(db, base, addresses.slice(start, start + addressesPerRead), seed, changed);
      await nextTurn();
    }
  }
}

async function markAddresses(
  db: DirectoryDb,
  { revision }: SnapshotName,
  addresses: readonly string[],
  seed: HashSeed,
  changed: ChangedKeys,
): Promise<void> {
  const rows = await db
    .selectFrom('directory_provisioned')
    .select('record')
    .where('address_key', 'in', addresses)
    .where('record', '!=', '')
    .where('revision', '<=', revision)
    .execute();
  const hash = { low: 0, high: 0 };
  const mark = (): void => {
    const key = changed.find(hash.low, hash.high);
    if (key !== undefined) key.hosted = 'before';
  };
  for (const { record } of rows) {
    hashHosted(record, seed, hash);
    mark();
    if (hideOwnerless(record, seed, hash)) mark();
  }
}
