/**
 * Several sources become one generation: precedence decides, blank fields are filled (Decision 0025).
 * Used by `service/directory`: `load` and `sources`.
 * Begin with `mergeSources` here; `fill-record.ts` has the rule for one record.
 */
import type { Clock } from '../../../core/index.ts';
import type { Storage } from '../../../platform/index.ts';
import { maxChainLength } from '../limits.ts';
import { removeBlocks } from '../store/clear-loads.ts';
import { countEntries } from '../store/generation.ts';
import { newLoadRow } from '../store/loads.ts';
import { seedOf, type HashSeed } from '../store/provisioned.ts';
import type { SourceChain, ToServe } from '../store/sources.ts';
import { lockState, updateState, type DirectoryDb } from '../store/state.ts';
import type { DirectoryTables, LoadRow } from '../store/tables.ts';
import {
  compareSources,
  countChangedEntries,
  findAllAddresses,
  findChangedAddresses,
} from './find-changed-addresses.ts';
import { mergeAll } from './merge-all.ts';
import { mergeChanged } from './merge-changed.ts';
import { MergeWriter } from './merge-writer.ts';
import { readServedTimes, readTimesOf } from './served-times.ts';
import type { AddressTable } from '../records/address-table.ts';

/** Dependencies of a merge. */
export interface MergeContext {
  readonly storage: Storage;
  readonly clock: Clock;
  /** Records that are merged again one by one; above, everything is. Tests lower it. */
  readonly pairsMergedSingly?: number;
}

/** The directory before a change of its sources. */
export interface ServedBefore {
  /** In order of precedence. */
  readonly sources: readonly SourceChain[];
  /** The served loads, newest first; empty if there are none. */
  readonly served: readonly LoadRow[];
  readonly secret: Uint8Array;
}

/** Records that are merged again one by one, each of some kilobytes of memory. */
const defaultPairsMergedSingly = 200_000;

/**
 * Finds the generation to serve for the given sources (Decision 0025): a source's own generation if no other
 * one has records, else a merge, whose blocks are stored before this is fulfilled. A merge is a load like any
 * other, a small one if few records differ from the merge before or from one of the sources. Only under the
 * lock of `loadAlone`.
 */
export async function mergeSources(
  context: MergeContext,
  before: ServedBefore,
  after: readonly SourceChain[],
): Promise<ToServe> {
  const filled = after.filter(({ chain }) => (chain[0]?.record_count ?? 0) > 0);
  if (filled.length <= 1) {
    const only = filled[0] ?? after.find(({ chain }) => chain.length > 0);
    return { chain: only?.chain ?? [], entryCount: 0 };
  }
  const plan = await planMerge(context, before, filled);
  const seed = seedOf(before.secret);
  const row = await beginMerge(context, filled);
  try {
    return await runMerge(context, plan, row, filled, { served: before.served, seed });
  } catch (error) {
    await abortMerge(context.storage, row.id);
    throw error;
  }
}

/** The base of an incremental merge, and the addresses to merge again. */
interface MergePlan {
  readonly base: readonly LoadRow[];
  readonly findAddresses: (db: DirectoryDb, seed: HashSeed) => Promise<AddressTable>;
}

/** The base from which the fewest records have to be looked at: the merge before, or one of the sources. */
async function planMerge(
  { storage, pairsMergedSingly = defaultPairsMergedSingly }: MergeContext,
  before: ServedBefore,
  sources: readonly SourceChain[],
): Promise<MergePlan | undefined> {
  const db = storage.tables<DirectoryTables>();
  const counts = await Promise.all(sources.map(({ chain }) => countEntries(db, chain)));
  const total = counts.reduce((sum, count) => sum + count, 0);
  const differences = compareSources(before.sources, sources);
  const plans = sources.map(({ chain }, rank) => ({
    base: chain,
    count: total - (counts[rank] ?? 0),
    findAddresses: (tables: DirectoryDb, seed: HashSeed) =>
      findAllAddresses(tables, loadsOfOthers(rank, sources, before.sources), seed),
  }));
  if (before.served.length > 0 && isInSameOrder(before.sources, sources)) {
    plans.unshift({
      base: before.served,
      count: await countChangedEntries(db, differences),
      findAddresses: (tables, seed) => findChangedAddresses(tables, differences, seed),
    });
  }
  const [best] = plans.toSorted((a, b) => a.count - b.count);
  if (best === undefined || best.count > pairsMergedSingly || best.base.length >= maxChainLength)
    return undefined;
  const older = await countEntries(db, best.base.slice(0, -1));
  return (older + best.count) * 2 > (best.base[0]?.record_count ?? 0) ? undefined : best;
}

/**
 * All loads of the other sources, before and after: a record that they have completed changes when they no
 * longer do.
 */
function loadsOfOthers(
  rank: number,
  sources: readonly SourceChain[],
  before: readonly SourceChain[],
): LoadRow[] {
  const own = sources[rank]?.source.name;
  const others = [...sources, ...before].filter(({ source }) => source.name !== own);
  return [...new Map(others.flatMap(({ chain }) => chain).map((load) => [load.id, load])).values()];
}

/** True if the relative precedence of all existing sources is unchanged. */
function isInSameOrder(before: readonly SourceChain[], after: readonly SourceChain[]): boolean {
  const names = (chains: readonly SourceChain[], among: readonly SourceChain[]): string =>
    chains
      .map(({ source }) => source.name)
      .filter((name) => among.some(({ source }) => source.name === name))
      .join(' ');
  return names(before, after) === names(after, before);
}

async function beginMerge(
  { storage, clock }: MergeContext,
  sources: readonly SourceChain[],
): Promise<LoadRow> {
  const now = clock.now().getTime();
  const merged = sources.map(({ source }) => source.name).join(', ');
  return storage.transaction(async (tx: DirectoryDb) => {
    const { next_load_id: id } = await lockState(storage, tx);
    await updateState(tx, { next_load_id: id + 1 });
    const hasFileKeys = sources.some(({ chain }) => chain.some(({ file_keys: keys }) => keys !== 0));
    const row = newLoadRow(
      {
        id,
        kind: 'merged',
        format: 'merge',
        source: merged,
        source_name: '',
        state: 'merging',
        file_keys: hasFileKeys ? 1 : 0,
      },
      now,
    );
    await tx.insertInto('directory_load').values(row).execute();
    return row;
  });
}

async function runMerge(
  { storage, clock }: MergeContext,
  plan: MergePlan | undefined,
  row: LoadRow,
  sources: readonly SourceChain[],
  { served, seed }: { readonly served: readonly LoadRow[]; readonly seed: HashSeed },
): Promise<ToServe> {
  const db = storage.tables<DirectoryTables>();
  const sink = new MergeWriter(storage, clock, row.id, seed);
  if (plan === undefined) {
    await mergeAll({ db, sources, seed, sink, served: await readServedTimes(db, served, seed) });
    await sink.flush();
    return servedMerge({ ...row, record_count: sink.entryCount, block_count: sink.blockCount }, [], sink);
  }
  const { base } = plan;
  const addresses = await plan.findAddresses(db, seed);
  const isServed = base[0]?.id === served[0]?.id;
  const times = isServed ? undefined : await readTimesOf(db, served, addresses, seed);
  const { gained } = await mergeChanged({ db, sources, base, addresses, seed, sink, served: times });
  await sink.flush();
  if (sink.entryCount === 0) {
    await abortMerge(storage, row.id);
    return { chain: base, entryCount: 0 };
  }
  const recordCount = (base[0]?.record_count ?? 0) + gained;
  const parentId = base[0]?.id ?? null;
  return servedMerge(
    { ...row, parent_id: parentId, record_count: recordCount, block_count: sink.blockCount },
    base,
    sink,
  );
}

function servedMerge(merge: LoadRow, base: readonly LoadRow[], { entryCount }: MergeWriter): ToServe {
  return { chain: [merge, ...base], entryCount, merge };
}

/** Removes a merge that is not activated. */
export async function abortMerge(storage: Storage, loadId: number): Promise<void> {
  const result = await storage
    .tables<DirectoryTables>()
    .deleteFrom('directory_load')
    .where('id', '=', loadId)
    .where('state', '=', 'merging')
    .executeTakeFirst();
  if (result.numDeletedRows === 1n) await removeBlocks(storage, loadId);
}
