import { indexStored } from '../index-thread/index-stored.ts';
import { startIndexThread } from '../index-thread/start-index-thread.ts';
import { maxChainLength } from '../limits.ts';
import { countEntries, readGeneration, withSkips } from '../store/generation.ts';
import { storeBlocks, type BegunLoad } from '../store/loads.ts';
import { readProvisioned } from '../store/provisioned.ts';
import { openSnapshotFiles } from '../store/snapshot-files.ts';
import type { DirectoryTables, LoadRow } from '../store/tables.ts';
import { BlockWriter, readKeys, readLines, type Block } from '../records/block.ts';
import type { ImportContext } from './context.ts';
import { isServedAsChanges } from './is-served-as-changes.ts';
import { KeyTable } from '../records/key-table.ts';
import type { LoadedRows } from './load-rows.ts';

/** What an activation must know of the stored blocks. */
export interface StoredLoad {
  readonly parentId: number | null;
  readonly blockCount: number;
}

export interface IndexStream {
  readonly add: (block: Block) => Promise<void>;
  finish(result: LoadedRows): Promise<StoredLoad>;
  close(): Promise<void>;
}

/** Indexes a full load while it is read: two threads work on the same blocks. */
export function indexStream(context: ImportContext, load: BegunLoad): IndexStream {
  const thread = startIndexThread();
  const replaced = new KeyTable();
  const ready = readProvisioned(context.storage, load.secret).then(async (overlay) => {
    for (const block of overlay) await thread.add(withSkips(block, replaced, true));
  });
  // Met by the first `add` or by `finish`; until then it is not an unhandled failure.
  ready.catch(() => {});
  return {
    async add(block) {
      await ready;
      await thread.add(withSkips(block, replaced, false));
    },
    async finish(result) {
      await ready;
      await thread.finish(snapshotPathOf(context, load));
      return { parentId: null, blockCount: result.blockCount };
    },
    close: () => thread.close(),
  };
}

/**
 * Indexes a generation that an increment has made, after its last row is stored. After a small one there is nothing to
 * do: whoever serves adds it to the index of an older load.
 */
export async function indexGeneration(
  context: ImportContext,
  load: BegunLoad,
  result: LoadedRows,
): Promise<StoredLoad> {
  const isCopied = await isWorthCopying(context, load, result);
  const stored = isCopied
    ? await copyGeneration(context, load, result)
    : { parentId: load.chain[0]?.id ?? null, blockCount: result.blockCount };
  if (isCopied || !(await isServedAsChanges(context, load, result))) await indexWhole(context, load, result);
  return stored;
}

async function indexWhole(context: ImportContext, load: BegunLoad, result: LoadedRows): Promise<void> {
  const chain: LoadRow[] = [asRow(load, result.blockCount), ...load.chain];
  const thread = startIndexThread();
  try {
    await indexStored(context.storage, thread, chain, load.secret, snapshotPathOf(context, load));
  } finally {
    await thread.close();
  }
}

/**
 * The snapshot bears the revision that the load began with: hosted records were read then or later, and the load may be
 * activated after more of them have changed.
 */
function snapshotPathOf({ snapshotDir }: ImportContext, load: BegunLoad): string {
  return openSnapshotFiles(snapshotDir, load).pathOf({ loadId: load.id, revision: load.revision });
}

/** Long chains, and increments that together are large, are copied into one load, so that old blocks do not pile up. */
async function isWorthCopying(
  { storage }: ImportContext,
  { chain }: BegunLoad,
  { entryCount }: LoadedRows,
): Promise<boolean> {
  if (chain.length >= maxChainLength) return true;
  const older = await countEntries(storage.tables<DirectoryTables>(), chain.slice(0, -1));
  return (older + entryCount) * 2 > (chain[0]?.record_count ?? 0);
}

/** Appends what the older loads still contribute, so that this load holds every record itself. */
async function copyGeneration(
  context: ImportContext,
  load: BegunLoad,
  result: LoadedRows,
): Promise<StoredLoad> {
  const db = context.storage.tables<DirectoryTables>();
  const chain = [asRow(load, result.blockCount), ...load.chain];
  let sequence = result.blockCount;
  let blocksRead = 0;
  for await (const block of readGeneration(db, chain)) {
    if (blocksRead++ < result.blockCount) continue;
    const live = dropSkipped(block, block.skip);
    if (live !== undefined) await storeBlocks(context.storage, context.clock, load.id, sequence++, [live]);
  }
  return { parentId: null, blockCount: sequence };
}

function dropSkipped(block: Block, skip: Uint8Array | undefined): Block | undefined {
  if (skip === undefined) return block;
  const writer = new BlockWriter(block.recordCount);
  const keys = readKeys(block);
  const lines = readLines(block);
  for (let entry = 0; entry < block.recordCount; entry++) {
    if (skip[entry] === 1) continue;
    const at = entry * 4;
    writer.add(keys[at] ?? 0, keys[at + 1] ?? 0, keys[at + 2] ?? 0, keys[at + 3] ?? 0, lines[entry] ?? '');
  }
  return writer.take();
}

/** The load as it will be once it is active. */
function asRow(load: BegunLoad, blockCount: number): LoadRow {
  return {
    id: load.id,
    parent_id: load.chain[0]?.id ?? null,
    previous_id: null,
    kind: 'incremental',
    format: '',
    source: '',
    state: 'loading',
    record_count: 0,
    block_count: blockCount,
    report: '{}',
    started_at: 0,
    heartbeat_at: 0,
    finished_at: null,
  };
}
