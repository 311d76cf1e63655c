/**
 * What changed between the served index and the active generation, as two small indexes.
 * Used by `service/directory/serve`.
 * Begin with this file, then `index-changes.ts`.
 */
import type { ProviderRecord } from '../../../lib/provider-record/index.ts';
import type { Block } from '../records/block.ts';
import { readEntryKeys } from '../store/entry-keys.ts';
import {
  hashAddress,
  hashHosted,
  hideOwnerless,
  provisionedBlocks,
  type HashSeed,
} from '../store/provisioned.ts';
import type { SnapshotName } from '../store/snapshot-files.ts';
import type { DirectoryDb } from '../store/state.ts';
import type { LoadRow, ProvisionedRow } from '../store/tables.ts';
import { ChangedKeys, type EntryPlace } from './changed-keys.ts';
import { markHosted } from './mark-hosted.ts';

/** The index and the directory that are compared. */
export interface ChangesRequest {
  readonly db: DirectoryDb;
  /** Content of the base index: its load's generation, with the hosted records of that revision or later. */
  readonly base: SnapshotName;
  /** The active generation, newest load first. The base's load is one of it. */
  readonly chain: readonly LoadRow[];
  readonly seed: HashSeed;
  /** Largest number of keys. */
  readonly limit: number;
  /** Records of the base by id; unknown ids are skipped. */
  readonly baseRecords: (ids: ReadonlySet<number>) => Promise<readonly ProviderRecord[]>;
}

/** The difference between a base index and the directory as it is now. */
export interface FoundChanges {
  /** Number of keys read: a measure of the cost of the changes. */
  readonly count: number;
  /** Hosted records that have come or changed. */
  readonly hosted: readonly Block[];
  /** Entries of loads whose records have come or changed. */
  readonly places: readonly EntryPlace[];
  /** Ids under which the base holds records that no longer count, and ids that it does not have. */
  readonly removedIds: ReadonlySet<number>;
}

/**
 * Compares the current database with the contents of an index, reading only the keys of old loads. Entries
 * that hosted records covered when the base was built are read from the base itself, so that the hosted
 * records may have been read at any moment at or after the base's revision. Undefined if there are more than
 * `limit` changes.
 */
export async function findChanges(request: ChangesRequest): Promise<FoundChanges | undefined> {
  const { db, base, chain, seed, limit } = request;
  const keys = new ChangedKeys();
  const depth = chain.findIndex((load) => load.id === base.loadId);
  const newer = depth < 0 ? chain : chain.slice(0, depth);
  for (const load of newer) if (!(await addIncrement(db, load, keys, limit))) return undefined;
  // Asked before the changed rows are: one that changes in between is then among them.
  await markHosted(db, base, newer, seed, keys);
  const rows = await readChangedRows(db, base, limit);
  const removedIds = new Set(rows.map((row) => row.record_id));
  await addHosted(request, rows, removedIds, keys);
  if (rows.length > limit || keys.size > limit) return undefined;
  if (keys.size > 0 && depth >= 0) {
    for (const load of chain.slice(depth)) await addOldPlaces(db, load, keys);
  }
  const live = rows.filter((row) => row.record !== '');
  return { count: keys.size, hosted: await provisionedBlocks(live, seed), ...placesOf(keys, removedIds) };
}

// False as soon as there are too many keys. Newer loads come first, and a key appears once in each.
async function addIncrement(
  db: DirectoryDb,
  load: LoadRow,
  changed: ChangedKeys,
  limit: number,
): Promise<boolean> {
  for await (const { loadId, sequence, keys } of readEntryKeys(db, load)) {
    for (let at = 0; at < keys.length; at += 4) {
      const key = changed.obtain(keys[at] as number, keys[at + 1] as number);
      key.newest ??= { loadId, sequence, entry: at / 4, id: keys[at + 2] as number };
    }
    if (changed.size > limit) return false;
  }
  return true;
}

function readChangedRows(
  db: DirectoryDb,
  { revision }: SnapshotName,
  limit: number,
): Promise<Pick<ProvisionedRow, 'record' | 'record_id' | 'updated_at'>[]> {
  return db
    .selectFrom('directory_provisioned')
    .select(['record', 'record_id', 'updated_at'])
    .where('revision', '>', revision)
    .orderBy('record_id')
    .limit(limit + 1)
    .execute();
}

/** The keys that hosted records had in the base, and those that they have now. */
async function addHosted(
  { baseRecords, seed }: ChangesRequest,
  rows: readonly Pick<ProvisionedRow, 'record'>[],
  ids: ReadonlySet<number>,
  changed: ChangedKeys,
): Promise<void> {
  if (rows.length === 0) return;
  const hash = { low: 0, high: 0 };
  for (const record of await baseRecords(ids)) {
    hashAddress(record.directAddress, record.npi, seed, hash);
    delete changed.obtain(hash.low, hash.high).hosted;
    if (record.npi === '') continue;
    hashAddress(record.directAddress, '', seed, hash);
    delete changed.obtain(hash.low, hash.high).hosted;
  }
  for (const { record } of rows) {
    if (record === '') continue;
    hashHosted(record, seed, hash);
    changed.obtain(hash.low, hash.high).hosted = 'since';
    if (hideOwnerless(record, seed, hash)) changed.obtain(hash.low, hash.high).hosted = 'since';
  }
}

async function addOldPlaces(db: DirectoryDb, load: LoadRow, changed: ChangedKeys): Promise<void> {
  for await (const { loadId, sequence, keys } of readEntryKeys(db, load)) {
    for (let at = 0; at < keys.length; at += 4) {
      const key = changed.find(keys[at] as number, keys[at + 1] as number);
      if (key === undefined) continue;
      key.old ??= { loadId, sequence, entry: at / 4, id: keys[at + 2] as number };
    }
  }
}

function placesOf(
  changed: ChangedKeys,
  hostedIds: ReadonlySet<number>,
): Pick<FoundChanges, 'places' | 'removedIds'> {
  const places: EntryPlace[] = [];
  const removedIds = new Set(hostedIds);
  for (const { newest, old, hosted } of changed) {
    if (hosted === 'before') continue;
    if (old !== undefined && old.id !== 0) removedIds.add(old.id);
    const place = newest ?? old;
    if (hosted === undefined && place !== undefined && place.id !== 0) places.push(place);
  }
  return { places, removedIds };
}
