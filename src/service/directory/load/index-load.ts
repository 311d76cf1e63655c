import { setImmediate as nextTurn } from 'node:timers/promises';
import { startIndexThread } from '../index-thread/start-index-thread.ts';
import { entriesPerTurn, maxChainLength } from '../limits.ts';
import { countEntries, readGeneration, withSkips } from '../store/generation.ts';
import { newLoadRow, storeBlocks, type BegunLoad } from '../store/loads.ts';
import { readProvisioned, seedOf, type HashSeed } from '../store/provisioned.ts';
import type { DirectoryTables, LoadRow } from '../store/tables.ts';
import { pairsOfLines } from '../merge/live-entries.ts';
import type { BlockLookup } from '../records/block-lookup.ts';
import { BlockWriter, readKeys, readLines, type Block } from '../records/block.ts';
import type { ImportContext } from './context.ts';
import { snapshotPathOf } from './index-served.ts';
import { KeyTable } from '../records/key-table.ts';
import type { LoadedRows } from './load-rows.ts';

/** Properties of the stored blocks that an activation needs. */
export interface StoredLoad {
  readonly parentId: number | null;
  readonly blockCount: number;
  readonly hasFileKeys: boolean;
}

export interface IndexStream {
  readonly add: (block: Block) => Promise<void>;
  /** Ends the indexing with a snapshot. */
  write(): Promise<void>;
  close(): Promise<void>;
}

/** Indexes a full load while it is read: two threads work on the same blocks. */
export function indexStream(context: ImportContext, load: BegunLoad): IndexStream {
  const thread = startIndexThread();
  const replaced = new KeyTable();
  const ready = readProvisioned(context.storage, load.secret).then(async (overlay) => {
    for (const block of overlay) await thread.add(withSkips(block, replaced, true));
  });
  // Handled by the first `add` or by `finish`; until then it must not count as an unhandled rejection.
  ready.catch(() => {});
  return {
    async add(block) {
      await ready;
      await thread.add(withSkips(block, replaced, false));
    },
    async write() {
      await ready;
      await thread.write(snapshotPathOf(context, load.id, load));
    },
    close: () => thread.close(),
  };
}

/** After the last row of a full load. */
export function ownBlocks({ blockCount, hasFileKeys }: LoadedRows): StoredLoad {
  return { parentId: null, blockCount, hasFileKeys };
}

/** After the last row of an increment is stored: copies the loads that it builds upon where that pays. */
export async function completeIncrement(
  context: ImportContext,
  load: BegunLoad,
  result: LoadedRows,
): Promise<StoredLoad> {
  if (await isWorthCopying(context, load, result)) return copyGeneration(context, load, result);
  const { blockCount, hasFileKeys } = result;
  return { parentId: load.chain[0]?.id ?? null, blockCount, hasFileKeys };
}

/**
 * Long chains, and increments that together are large, are copied into one load, so that old blocks do not
 * pile up.
 */
async function isWorthCopying(
  { storage }: ImportContext,
  { chain }: BegunLoad,
  { entryCount }: LoadedRows,
): Promise<boolean> {
  if (chain.length >= maxChainLength) return true;
  const older = await countEntries(storage.tables<DirectoryTables>(), chain.slice(0, -1));
  return (older + entryCount) * 2 > (chain[0]?.record_count ?? 0);
}

/** Appends the entries of older loads that are still valid, so that this load contains every record. */
async function copyGeneration(
  context: ImportContext,
  load: BegunLoad,
  result: LoadedRows,
): Promise<StoredLoad> {
  const db = context.storage.tables<DirectoryTables>();
  const chain = chainOf(load, { parentId: load.chain[0]?.id ?? null, ...result });
  const hasFileKeys = result.hasFileKeys || load.chain.some((one) => one.file_keys !== 0);
  const seed = seedOf(load.secret);
  let sequence = result.blockCount;
  let blocksRead = 0;
  for await (const block of readGeneration(db, chain)) {
    if (blocksRead++ < result.blockCount) continue;
    const live = await dropSkipped(block, block.skip);
    if (live === undefined) continue;
    await storeBlocks(context.storage, context.clock, load.id, sequence++, [live]);
    await addToLookup(result.lookup, live, hasFileKeys, seed);
  }
  return { parentId: null, blockCount: sequence, hasFileKeys };
}

async function addToLookup(
  lookup: BlockLookup,
  block: Block,
  hasFileKeys: boolean,
  seed: HashSeed,
): Promise<void> {
  const keys = readKeys(block);
  for (let at = 0; at < keys.length; at += 4) lookup.add(keys[at] as number);
  if (hasFileKeys) {
    const { pairs } = await pairsOfLines(block, seed);
    for (let at = 0; at < pairs.length; at += 2) lookup.add(pairs[at] as number);
  }
  lookup.endBlock();
}

async function dropSkipped(block: Block, skip: Uint8Array | undefined): Promise<Block | undefined> {
  if (skip === undefined) return block;
  const writer = new BlockWriter(block.recordCount);
  const keys = readKeys(block);
  const lines = readLines(block);
  for (let entry = 0; entry < block.recordCount; entry++) {
    if (entry % entriesPerTurn === 0) await nextTurn();
    if (skip[entry] === 1) continue;
    const at = entry * 4;
    writer.add(
      keys[at] ?? 0,
      keys[at + 1] ?? 0,
      keys[at + 2] ?? 0,
      keys[at + 3] ?? 0,
      lines[entry] ?? '',
      block.changed?.[entry],
    );
  }
  return writer.take();
}

/** The generation of the load's source as it will be, newest load first. */
export function chainOf(
  load: BegunLoad,
  { parentId, blockCount, recordCount, hasFileKeys }: StoredLoad & Pick<LoadedRows, 'recordCount'>,
): LoadRow[] {
  const row = newLoadRow(
    {
      id: load.id,
      parent_id: parentId,
      previous_id: load.chain[0]?.id ?? null,
      kind: parentId === null ? 'full' : 'incremental',
      format: '',
      source: '',
      source_name: load.source.name,
      record_count: recordCount,
      block_count: blockCount,
      file_keys: hasFileKeys ? 1 : 0,
    },
    0,
  );
  return [row, ...(parentId === null ? [] : load.chain)];
}
