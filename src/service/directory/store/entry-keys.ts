import { setImmediate as nextTurn } from 'node:timers/promises';
import { readKeys } from '../records/block.ts';
import type { DirectoryDb } from './state.ts';
import type { BlockRow, LoadRow } from './tables.ts';

/** Blocks read at once: a quarter of a megabyte. */
const blocksPerRead = 4;

/** The keys of one stored block. */
export interface BlockKeys {
  readonly loadId: number;
  readonly sequence: number;
  /** Hash low, hash high, id, check sum, again and again. */
  readonly keys: Uint32Array;
  /** As `unpackTimes` reads them. */
  readonly packedTimes: Uint8Array | null;
}

/** The keys of a load's blocks in their order, without the records; hands the event loop back in between. */
export async function* readEntryKeys(
  db: DirectoryDb,
  { id: loadId, block_count: blockCount }: Pick<LoadRow, 'id' | 'block_count'>,
): AsyncGenerator<BlockKeys> {
  for (let sequence = 0; sequence < blockCount; sequence += blocksPerRead) {
    const rows = await db
      .selectFrom('directory_block')
      .select(['sequence', 'keys', 'record_count', 'changed'])
      .where('load_id', '=', loadId)
      .where('sequence', '>=', sequence)
      .where('sequence', '<', sequence + blocksPerRead)
      .orderBy('sequence')
      .execute();
    if (rows.length < Math.min(blocksPerRead, blockCount - sequence))
      throw new Error(`a block of directory load ${loadId} is missing`);
    for (const row of rows) yield toBlockKeys(loadId, row);
    await nextTurn();
  }
}

/** The keys of one block. */
export async function readBlockKeys(db: DirectoryDb, loadId: number, sequence: number): Promise<BlockKeys> {
  const row = await db
    .selectFrom('directory_block')
    .select(['sequence', 'keys', 'record_count', 'changed'])
    .where('load_id', '=', loadId)
    .where('sequence', '=', sequence)
    .executeTakeFirst();
  if (row === undefined) throw new Error(`block ${sequence} of directory load ${loadId} is missing`);
  return toBlockKeys(loadId, row);
}

function toBlockKeys(
  loadId: number,
  row: Pick<BlockRow, 'sequence' | 'keys' | 'record_count' | 'changed'>,
): BlockKeys {
  const keys = readKeys({ keys: row.keys, recordCount: row.record_count });
  return { loadId, sequence: row.sequence, keys, packedTimes: row.changed };
}
