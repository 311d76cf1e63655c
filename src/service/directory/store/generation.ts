import { readKeys, type Block } from '../records/block.ts';
import { KeyTable } from '../records/key-table.ts';
import { readEntryKeys } from './entry-keys.ts';
import { completeTimes, timeOfLoad, unpackTimes } from './change-times.ts';
import type { LoadRow } from './tables.ts';
import type { DirectoryDb } from './state.ts';

/** A block of a generation with the entries that a newer load, or an earlier entry, has replaced. */
export interface LiveBlock extends Block {
  /** 1 for each entry that does not count; undefined if all count. */
  readonly skip?: Uint8Array;
}

/**
 * The blocks of a generation, newest load first: `chain` as from `readChain`, `overlay` before all of it. An
 * entry is skipped when a newer block has one for the same key, and when it stands for a removal. Reads one
 * block at a time. Entries changed by the newest load have no time yet; those changed by an older load have
 * the time of that load.
 */
export async function* readGeneration(
  db: DirectoryDb,
  chain: readonly LoadRow[],
  overlay: readonly Block[] = [],
): AsyncGenerator<LiveBlock> {
  const replaced = new KeyTable();
  for (const block of overlay) yield withSkips(block, replaced, true);
  for (const [depth, load] of chain.entries()) {
    const hasOlder = depth < chain.length - 1;
    for (let sequence = 0; sequence < load.block_count; sequence++) {
      const block = await readBlock(db, load.id, sequence);
      const timed =
        depth === 0
          ? block
          : { ...block, changed: completeTimes(block.changed, block.recordCount, timeOfLoad(load)) };
      yield withSkips(timed, replaced, hasOlder);
    }
  }
}

export async function readBlock(db: DirectoryDb, loadId: number, sequence: number): Promise<Block> {
  const row = await db
    .selectFrom('directory_block')
    .select(['keys', 'records', 'record_count', 'changed'])
    .where('load_id', '=', loadId)
    .where('sequence', '=', sequence)
    .executeTakeFirst();
  if (row === undefined) throw new Error(`block ${sequence} of directory load ${loadId} is missing`);
  const changed = unpackTimes(row.changed);
  return { keys: row.keys, records: row.records, recordCount: row.record_count, ...(changed && { changed }) };
}

/** Marks entries replaced by newer blocks; records this block's keys if older blocks follow. */
export function withSkips(block: Block, replaced: KeyTable, remembers: boolean): LiveBlock {
  if (replaced.size === 0 && !remembers) return block;
  const keys = readKeys(block);
  const skip = new Uint8Array(block.recordCount);
  for (let entry = 0; entry < block.recordCount; entry++) {
    const low = keys[entry * 4] ?? 0;
    const high = keys[entry * 4 + 1] ?? 0;
    const isReplaced = replaced.find(low, high) >= 0;
    if (isReplaced || keys[entry * 4 + 2] === 0) skip[entry] = 1;
    if (!isReplaced && remembers) replaced.add(low, high, 1, 0, true);
  }
  return { ...block, skip };
}

/** Entries that some loads hold, removals and replaced ones included. */
export async function countEntries(db: DirectoryDb, loads: readonly Pick<LoadRow, 'id'>[]): Promise<number> {
  if (loads.length === 0) return 0;
  const { entries } = await db
    .selectFrom('directory_block')
    .select(({ fn }) => fn.sum<number | null>('record_count').as('entries'))
    .where(
      'load_id',
      'in',
      loads.map(({ id }) => id),
    )
    .executeTakeFirstOrThrow();
  return Number(entries ?? 0);
}

/** The keys, ids, check sums and last changes of every record of a generation. */
export async function readKeyTable(db: DirectoryDb, chain: readonly LoadRow[]): Promise<KeyTable> {
  const table = new KeyTable(chain[0]?.record_count ?? 0);
  const removed = new KeyTable();
  for (const load of chain) {
    // A key appears once in a load: only those of newer loads can be there already.
    const isNewest = load === chain[0];
    for await (const { keys, packedTimes } of readEntryKeys(db, load)) {
      const times = completeTimes(unpackTimes(packedTimes), keys.length / 4, timeOfLoad(load));
      addKeys(table, removed, keys, times, isNewest);
    }
  }
  return table;
}

/** Ids by key, of every record that some generations hold or held. */
export async function readIds(db: DirectoryDb, chains: readonly (readonly LoadRow[])[]): Promise<KeyTable> {
  const table = new KeyTable(chains.reduce((sum, chain) => sum + (chain[0]?.record_count ?? 0), 0));
  for (const load of chains.flat()) {
    for await (const { keys } of readEntryKeys(db, load)) {
      for (let at = 0; at < keys.length; at += 4) {
        const [low, high, id] = [keys[at] ?? 0, keys[at + 1] ?? 0, keys[at + 2] ?? 0];
        if (id !== 0 && table.find(low, high) < 0) table.add(low, high, id, 0, true);
      }
    }
  }
  return table;
}

function addKeys(
  table: KeyTable,
  removed: KeyTable,
  keys: Uint32Array,
  times: Uint32Array,
  isNewest: boolean,
): void {
  for (let at = 0; at < keys.length; at += 4) {
    const low = keys[at] ?? 0;
    const high = keys[at + 1] ?? 0;
    if (!isNewest && (removed.find(low, high) >= 0 || table.find(low, high) >= 0)) continue;
    const id = keys[at + 2] ?? 0;
    if (id === 0) removed.add(low, high, 1, 0, true);
    else table.setChangedAt(table.add(low, high, id, keys[at + 3] ?? 0, false), times[at / 4] ?? 0);
  }
}
