import { setImmediate as nextTurn } from 'node:timers/promises';
import { isOtherSnapshotVersion, checkSnapshot } from '../../lib/provider-index/index.ts';
import type { Storage } from '../../platform/index.ts';
import { unpackMasks } from './merge/source-masks.ts';
import { readKeys, readLines } from './records/block.ts';
import { hashText } from './records/hash-text.ts';
import { recordLayout } from './records/record-line.ts';
import { seedOf } from './store/provisioned.ts';
import { openSnapshotFiles } from './store/snapshot-files.ts';
import type { BlockRow, DirectoryTables } from './store/tables.ts';

export interface DirectoryFaults {
  readonly blockCount: number;
  readonly recordCount: number;
  readonly snapshotCount: number;
  /** One sentence each. */
  readonly faults: readonly string[];
}

/**
 * Reads every stored record and this node's snapshots of the index, and compares them with their check sums.
 */
export async function findDirectoryFaults(storage: Storage, snapshotDir: string): Promise<DirectoryFaults> {
  const db = storage.tables<DirectoryTables>();
  const state = await db.selectFrom('directory_state').selectAll().executeTakeFirst();
  const faults: string[] = [];
  let [blockCount, recordCount] = [0, 0];
  const seed = state === undefined ? undefined : seedOf(state.secret);
  for (const { load_id, sequence } of await db
    .selectFrom('directory_block')
    .select(['load_id', 'sequence'])
    .orderBy('load_id')
    .orderBy('sequence')
    .execute()) {
    const block = await db
      .selectFrom('directory_block')
      .selectAll()
      .where('load_id', '=', load_id)
      .where('sequence', '=', sequence)
      .executeTakeFirst();
    // Deleted meanwhile, with its load.
    if (block === undefined || seed === undefined) continue;
    blockCount++;
    recordCount += block.record_count;
    if (!isWhole(block, seed)) faults.push(`Block ${sequence} of directory load ${load_id} is damaged.`);
    await nextTurn();
  }
  const snapshots = state === undefined ? [] : findDamagedSnapshots(snapshotDir, state.secret);
  faults.push(...snapshots.filter((fault) => fault !== ''));
  return { blockCount, recordCount, snapshotCount: snapshots.length, faults };
}

function isWhole(block: BlockRow, seed: { readonly low: number; readonly high: number }): boolean {
  try {
    const keys = readKeys({ keys: block.keys, recordCount: block.record_count });
    const lines = readLines(block);
    if (lines.length !== block.record_count) return false;
    if (block.sources !== null && unpackMasks(block.sources).length !== block.record_count) return false;
    // Lines of an older version are read as lines of this one, which have other sums.
    if (block.records[0] !== recordLayout.version) return true;
    const sum = { low: 0, high: 0 };
    return lines.every((line, at) => {
      if (line === '') return true;
      hashText(line, seed.low, seed.high, sum);
      return sum.low >>> 0 === (keys[at * 4 + 3] as number) >>> 0;
    });
  } catch {
    return false;
  }
}

/**
 * The fault of each snapshot, or nothing. One of another version of the program is not counted: after an
 * upgrade it stays until the server has built the index again.
 */
function findDamagedSnapshots(folder: string, secret: Uint8Array): readonly string[] {
  const files = openSnapshotFiles(folder, { secret });
  return files
    .list()
    .map((name) => files.pathOf(name))
    .filter((path) => !isOtherSnapshotVersion(path))
    .map((path) => {
      try {
        checkSnapshot(path);
        return '';
      } catch {
        return `The directory snapshot ${path} is damaged.`;
      }
    });
}
