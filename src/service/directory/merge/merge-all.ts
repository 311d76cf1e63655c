import { setImmediate as nextTurn } from 'node:timers/promises';
import { entriesPerTurn } from '../limits.ts';
import { AddressBits } from '../records/address-bits.ts';
import { hasOwner, type HashSeed } from '../store/provisioned.ts';
import type { SourceChain } from '../store/sources.ts';
import type { DirectoryDb } from '../store/state.ts';
import type { SourceRow } from '../store/tables.ts';
import { fillRecord } from './fill-record.ts';
import { LineStore } from './line-store.ts';
import { joinOwnerless, type AddressTimes } from './join-ownerless.ts';
import { forEachLive, linesOf, readLivePairs, type PairBlock } from './live-entries.ts';
import type { MergedEntry, MergeSink } from './merge-writer.ts';
import { firstRank, hasSeveralRanks, PairTable } from './pair-table.ts';
import type { ServedTimes } from './served-times.ts';
import { maskOf } from './source-masks.ts';

export interface MergeAllRequest {
  readonly db: DirectoryDb;
  /** In order of precedence. */
  readonly sources: readonly SourceChain[];
  readonly seed: HashSeed;
  readonly sink: MergeSink;
  /** Omits every record and every value of the other sources. Ids stay those of the whole merge. */
  readonly isShown?: (source: SourceRow) => boolean;
  /**
   * Lines of overridden records in memory at once, about 200 bytes each; with more of them the sources are
   * read several times.
   */
  readonly linesAtOnce?: number;
  /**
   * The data served before. Without it a merged record counts as changed when one of its sources' records
   * did.
   */
  readonly served?: ServedTimes;
}

const defaultLinesAtOnce = 500_000;

/**
 * Merges whole sources: for each pair of Direct address and NPI the records of the first source that has it,
 * filled from the others; an address without NPI is one with the pair of its owner (`find-owner.ts`). Pairs
 * that only the largest source has are not kept in memory, and are passed on as they are.
 */
export async function mergeAll(request: MergeAllRequest): Promise<void> {
  const { db, sources, seed, isShown = () => true } = request;
  const { pairs, hasBoth } = await findPairs(db, sources, seed);
  const shownRanks = sources.reduce(
    (ranks, { source }, rank) => (isShown(source) ? ranks | (1 << rank) : ranks),
    0,
  );
  const { linesAtOnce = defaultLinesAtOnce } = request;
  const times = await joinOwnerless({ db, sources, seed, pairs, hasBoth, shownRanks, linesAtOnce });
  const partitions = Math.max(1, Math.ceil(pairs.countOverlaps(shownRanks) / linesAtOnce));
  for (let partition = 0; partition < partitions; partition++) {
    const merge = new PartialMerge(request, { pairs, times }, shownRanks, { partition, partitions });
    for (let rank = sources.length - 1; rank >= 0; rank--) await merge.keepOverridden(rank);
    for (let rank = 0; rank < sources.length; rank++) await merge.emit(rank);
    merge.clear();
  }
}

/**
 * The pairs of all sources but the largest, with the ranks that have them, and those of the largest whose
 * address others have with an NPI where it has none, or without one where it has one.
 */
async function findPairs(
  db: DirectoryDb,
  sources: readonly SourceChain[],
  seed: HashSeed,
): Promise<{ readonly pairs: PairTable; readonly hasBoth: (low: number) => boolean }> {
  const counts = sources.map(({ chain }) => chain[0]?.record_count ?? 0);
  const largest = counts.indexOf(Math.max(...counts));
  const expected = counts.reduce((sum, count, rank) => (rank === largest ? sum : sum + count), 0);
  const table = new PairTable(expected);
  const [owned, ownerless] = [new AddressBits(expected), new AddressBits(expected)];
  for (const [rank, { chain }] of sources.entries()) {
    if (rank === largest) continue;
    for await (const block of readLivePairs(db, chain, seed))
      forEachLive(block, (low, high, id) => {
        table.add(low, high, rank, id);
        (hasOwner(high) ? owned : ownerless).add(low);
      });
  }
  for await (const block of readLivePairs(db, sources[largest]?.chain ?? [], seed))
    forEachLive(block, (low, high, id) => {
      if (table.find(low, high) < 0 && !(hasOwner(high) ? ownerless : owned).has(low)) return;
      table.add(low, high, largest, id);
      (hasOwner(high) ? owned : ownerless).add(low);
    });
  return { pairs: table, hasBoth: (low) => owned.has(low) && ownerless.has(low) };
}

/** The merge of one share of all pairs, which bounds the memory used. */
class PartialMerge {
  readonly #request: MergeAllRequest;
  readonly #pairs: PairTable;
  readonly #times: AddressTimes;
  readonly #shownRanks: number;
  readonly #share: { readonly partition: number; readonly partitions: number };
  readonly #kept = new LineStore();
  readonly #noted: number[] = [];

  constructor(
    request: MergeAllRequest,
    { pairs, times }: { readonly pairs: PairTable; readonly times: AddressTimes },
    shownRanks: number,
    share: { readonly partition: number; readonly partitions: number },
  ) {
    this.#request = request;
    this.#pairs = pairs;
    this.#times = times;
    this.#shownRanks = shownRanks;
    this.#share = share;
  }

  /**
   * Keeps the lines of a source that fill records of sources before it. Sources come in reverse order, the
   * last one first.
   */
  async keepOverridden(rank: number): Promise<void> {
    for await (const [block, wanted] of this.#blocksWith(
      rank,
      (slot) => slot >= 0 && !this.#isFirst(slot, rank),
    )) {
      const lines = await linesOf(this.#request.db, block);
      for (const [at, { entry, slot }] of wanted.entries()) {
        if (at % entriesPerTurn === 0) await nextTurn();
        this.#keep(slot, rank, block, entry, lines[entry] ?? '');
      }
    }
  }

  /** Of several records of one source the oldest one fills. */
  #keep(slot: number, rank: number, block: PairBlock, entry: number, line: string): void {
    const id = block.keys[entry * 4 + 2] as number;
    const changedAt = block.changed[entry] as number;
    const head = this.#pairs.noteAt(slot);
    const isSameSource = head !== 0 && this.#kept.rankOf(head) === rank;
    if (isSameSource && this.#kept.idOf(head) < id) return;
    if (head === 0) this.#noted.push(slot);
    const next = isSameSource ? this.#kept.nextOf(head) : head;
    this.#pairs.setNoteAt(slot, this.#kept.add({ line, rank, id, next, changedAt }));
  }

  /** Passes on the records for which a source takes precedence. */
  async emit(rank: number): Promise<void> {
    const { db, sink } = this.#request;
    const isWanted = (slot: number): boolean => slot < 0 || this.#isFirst(slot, rank);
    for await (const [block, wanted] of this.#blocksWith(rank, isWanted)) {
      const lines = await linesOf(db, block);
      for (const [at, { entry, slot }] of wanted.entries()) {
        if (at % entriesPerTurn === 0) await nextTurn();
        this.#emitEntry(block, rank, entry, slot, lines[entry] ?? '');
      }
      await sink.drain();
    }
  }

  #emitEntry(block: PairBlock, rank: number, entry: number, slot: number, own: string): void {
    const { sink, sources } = this.#request;
    const { keys, changed } = block;
    const [low, high] = this.#keyOf(block, entry, slot);
    const ownId = keys[entry * 4 + 2] as number;
    const bitOf = (one: number): number => maskOf((sources[one] as SourceChain).source.bit);
    let changedAt = changed[entry] as number;
    if (slot < 0) {
      sink.add(this.#timed({ low, high, id: ownId, line: own, mask: bitOf(rank), changedAt }));
      return;
    }
    const id = this.#pairs.hasSeveralAt(slot, rank) ? ownId : this.#pairs.lowestIdAt(slot);
    const lines = [own];
    const ranks = [rank];
    for (let kept = this.#pairs.noteAt(slot); kept !== 0; kept = this.#kept.nextOf(kept)) {
      lines.push(this.#kept.lineOf(kept));
      ranks.push(this.#kept.rankOf(kept));
      changedAt = Math.max(changedAt, this.#kept.changedAtOf(kept));
    }
    changedAt = Math.max(changedAt, this.#times.get(low) ?? 0);
    const { line, origins } = fillRecord(lines);
    let mask = bitOf(rank);
    for (const origin of origins) if (origin > 0) mask = (mask | bitOf(ranks[origin] as number)) >>> 0;
    sink.add(this.#timed({ low, high, id, line, mask, changedAt }));
  }

  /** A record that has got an NPI from another source has the key of its address and NPI. */
  #keyOf(block: PairBlock, entry: number, slot: number): readonly [low: number, high: number] {
    const { keys, pairs, pairStride } = block;
    const [low, high] = [keys[entry * 4] as number, keys[entry * 4 + 1] as number];
    const at = entry * pairStride;
    const isPair = pairs[at] === low && pairs[at + 1] === high;
    return slot >= 0 && isPair ? this.#pairs.hashAt(slot) : [low, high];
  }

  #timed(entry: MergedEntry): MergedEntry {
    const { served } = this.#request;
    return served === undefined ? entry : { ...entry, changedAt: served.timeOf(entry) };
  }

  clear(): void {
    for (const slot of this.#noted) this.#pairs.setNoteAt(slot, 0);
  }

  #isShown(rank: number): boolean {
    return (this.#shownRanks & (1 << rank)) !== 0;
  }

  #isFirst(slot: number, rank: number): boolean {
    const ranks = this.#shownRanksAt(slot);
    return ranks !== 0 && firstRank(ranks) === rank;
  }

  #shownRanksAt(slot: number): number {
    return slot < 0 ? 0 : this.#pairs.ranksAt(slot) & this.#shownRanks;
  }

  /**
   * Blocks of a source with entries of this part that are wanted; `slot` is -1 for a pair that no other
   * source has. Pairs of one source among those that are shown are in the first part: the order says nothing
   * of the others.
   */
  async *#blocksWith(
    rank: number,
    isWanted: (slot: number) => boolean,
  ): AsyncGenerator<readonly [PairBlock, readonly { readonly entry: number; readonly slot: number }[]]> {
    const { db, sources, seed } = this.#request;
    if (!this.#isShown(rank)) return;
    const { partition, partitions } = this.#share;
    for await (const block of readLivePairs(db, sources[rank]?.chain ?? [], seed)) {
      const wanted: { entry: number; slot: number }[] = [];
      forEachLive(block, (low, high, _, entry) => {
        const slot = this.#pairs.find(low, high);
        const part = hasSeveralRanks(this.#shownRanksAt(slot)) ? low % partitions : 0;
        if (part !== partition) return;
        if (isWanted(slot)) wanted.push({ entry, slot });
      });
      if (wanted.length > 0) yield [block, wanted];
    }
  }
}
