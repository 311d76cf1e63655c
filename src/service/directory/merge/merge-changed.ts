import { setImmediate as nextTurn } from 'node:timers/promises';
import { entriesPerTurn } from '../limits.ts';
import { readLines } from '../records/block.ts';
import type { AddressTable } from '../records/address-table.ts';
import { textOf } from '../records/record-line.ts';
import { hasOwner, type HashSeed } from '../store/provisioned.ts';
import type { SourceChain } from '../store/sources.ts';
import type { DirectoryDb } from '../store/state.ts';
import type { LoadRow } from '../store/tables.ts';
import { fillRecord } from './fill-record.ts';
import { claimOf, findOwner } from './find-owner.ts';
import { isLive, readLivePairs, readLivePairsOf } from './live-entries.ts';
import type { MergedEntry, MergeSink } from './merge-writer.ts';
import type { ServedTimes } from './served-times.ts';
import { maskOf, unpackMasks } from './source-masks.ts';

export interface MergeChangedRequest {
  readonly db: DirectoryDb;
  /** In order of precedence, as they will be. */
  readonly sources: readonly SourceChain[];
  /** The merge that is changed, or a source's own generation: newest load first. */
  readonly base: readonly LoadRow[];
  /** The addresses whose records may differ from the base. */
  readonly addresses: AddressTable;
  readonly seed: HashSeed;
  readonly sink: MergeSink;
  /** The data served before, if that is not the base. */
  readonly served?: ServedTimes | undefined;
}

/** Records that the base gains, less those that it loses. */
export interface MergedChanges {
  readonly gained: number;
}

/** An entry of one of the addresses, with its record. */
export interface FoundEntry {
  /** Place in the order of the sources, or -1 in the base. */
  readonly rank: number;
  readonly low: number;
  readonly high: number;
  /** The hash of its address and NPI: the key, unless that is one of its file. */
  readonly pair: readonly [low: number, high: number];
  readonly id: number;
  line: string;
  mask: number;
  /** Time of its last change: seconds since 1970. */
  readonly changedAt: number;
}

/** The current entries of the sources for one address, and those of the base. */
export interface AddressGroup {
  readonly said: FoundEntry[];
  readonly shown: FoundEntry[];
}

const baseRank = -1;
/**
 * Each may be in several blocks: for many addresses it is faster to read the keys of all blocks in their
 * order.
 */
const addressesLookedUp = 16;

/**
 * Merges some addresses again and passes on the differences from the base. Of the sources it reads only keys,
 * and blocks that contain one of the addresses.
 */
export async function mergeChanged(request: MergeChangedRequest): Promise<MergedChanges> {
  return emitChanges(request, await findGroups(request));
}

/** Entries of the sources, and of a base if there is one, for some addresses, by their numbers. */
export async function findGroups(
  request: Omit<MergeChangedRequest, 'sink'>,
): Promise<readonly AddressGroup[]> {
  const groups: AddressGroup[] = Array.from({ length: request.addresses.size }, () => ({
    said: [],
    shown: [],
  }));
  const bits = new Map(request.sources.map(({ source }) => [source.name, source.bit]));
  for (const [rank, { chain }] of request.sources.entries())
    await findEntries(request, chain, rank, groups, bits);
  await findEntries(request, request.base, baseRank, groups, bits);
  return groups;
}

async function findEntries(
  { db, addresses: wanted, seed }: Pick<MergeChangedRequest, 'db' | 'addresses' | 'seed'>,
  chain: readonly LoadRow[],
  rank: number,
  groups: readonly AddressGroup[],
  bits: ReadonlyMap<string, number>,
): Promise<void> {
  const blocks =
    wanted.size <= addressesLookedUp
      ? readLivePairsOf(db, chain, seed, wanted)
      : readLivePairs(db, chain, seed);
  for await (const block of blocks) {
    const found: [number, FoundEntry][] = [];
    const { keys, pairs, pairStride, entryCount, changed } = block;
    for (let entry = 0; entry < entryCount; entry++) {
      const pair = [pairs[entry * pairStride] as number, pairs[entry * pairStride + 1] as number] as const;
      const number = wanted.find(pair[0]);
      if (number < 0 || !isLive(block, entry)) continue;
      const at = entry * 4;
      const [low, high, id] = [keys[at] as number, keys[at + 1] as number, keys[at + 2] as number];
      const one: FoundEntry = {
        rank,
        low,
        high,
        pair,
        id,
        line: '',
        mask: 0,
        changedAt: changed[entry] as number,
      };
      const group = groups[number] as AddressGroup;
      (rank === baseRank ? group.shown : group.said).push(one);
      found.push([entry, one]);
    }
    if (found.length > 0) await readFound(db, block.load, block.sequence, found, bits);
  }
}

async function readFound(
  db: DirectoryDb,
  load: LoadRow,
  sequence: number,
  found: readonly (readonly [number, FoundEntry])[],
  bits: ReadonlyMap<string, number>,
): Promise<void> {
  const row = await db
    .selectFrom('directory_block')
    .select(['records', 'sources'])
    .where('load_id', '=', load.id)
    .where('sequence', '=', sequence)
    .executeTakeFirstOrThrow();
  const lines = readLines(row);
  const masks = row.sources === null ? undefined : unpackMasks(row.sources);
  // A source that is no more has no bit; its records differ from any others.
  const ownMask = bits.has(load.source_name) ? maskOf(bits.get(load.source_name) as number) : 0;
  for (const [entry, one] of found) {
    // A line cut out of the block's text would keep all of it in memory.
    one.line = Buffer.from(lines[entry] ?? '').toString();
    one.mask = masks?.[entry] ?? ownMask;
  }
  await nextTurn();
}

/** Keys of the base that the merge does not have any more are removed, unless another record has them now. */
async function emitChanges(
  { sink, sources, served }: MergeChangedRequest,
  groups: readonly AddressGroup[],
): Promise<MergedChanges> {
  const bits = sources.map(({ source }) => source.bit);
  const shown = new Map<string, FoundEntry>();
  for (const [at, group] of groups.entries()) {
    if (at % entriesPerTurn === 0) await nextTurn();
    for (const one of group.shown) shown.set(keyOf(one), one);
  }
  let gained = -shown.size;
  // Most merged entries may be unchanged: turns are counted by entries read, not by entries written.
  let looked = 0;
  const endTurn = async (): Promise<void> => {
    await sink.drain();
    await nextTurn();
  };
  for (const { said } of groups) {
    for (const merged of mergeAddress(said, bits)) {
      const entry = { ...merged, changedAt: served?.timeOf(merged) ?? 0 };
      const key = keyOf(entry);
      const old = shown.get(key);
      shown.delete(key);
      gained++;
      const isSame = old?.line === entry.line && old.id === entry.id && old.mask === entry.mask;
      // Only the data served before has the time of a base record's last change.
      if (!isSame || (served !== undefined && old.changedAt !== entry.changedAt)) sink.add(entry);
      if (++looked % entriesPerTurn === 0) await endTurn();
    }
  }
  for (const { low, high } of shown.values()) {
    sink.add({ low, high, id: 0, line: '', mask: 0, changedAt: 0 });
    if (++looked % entriesPerTurn === 0) await endTurn();
  }
  return { gained };
}

function keyOf({ low, high }: Pick<MergedEntry, 'low' | 'high'>): string {
  return `${low} ${high}`;
}

/** A merged record, with the source of each value. */
export interface MergedRecord extends Omit<MergedEntry, 'changedAt'> {
  /** The source of each value of the line by its place in the order, -1 for a blank value. */
  readonly origins: readonly number[];
  /** The entries that it is made of, and others that they override. */
  readonly said: readonly FoundEntry[];
}

/** The records of an address; `bits` are those of all sources. */
export function mergeAddress(said: readonly FoundEntry[], bits: readonly number[]): MergedRecord[] {
  return ownersOf(said).flatMap((entries) => mergeOwner(entries, bits));
}

/** The entries of each owner. */
function ownersOf(said: readonly FoundEntry[]): (readonly FoundEntry[])[] {
  if (said.length <= 1) return [said];
  const addresses = Map.groupBy(said, ({ line }) => textOf(line, 'directAddress').toLowerCase());
  return [...addresses.values()].flatMap((entries) =>
    findOwner(entries.map(({ line, rank }) => claimOf(line, rank))) === undefined
      ? [...Map.groupBy(entries, ({ line }) => textOf(line, 'npi')).values()]
      : [entries],
  );
}

/**
 * The records of the first source, filled from the oldest record of each other one. One that gets its NPI
 * from another source has the key of its address and NPI.
 */
function mergeOwner(said: readonly FoundEntry[], bits: readonly number[]): MergedRecord[] {
  const inOrder = said.toSorted((a, b) => a.rank - b.rank || a.id - b.id);
  const first = inOrder.filter(({ rank }) => rank === inOrder[0]?.rank);
  const others = inOrder
    .slice(first.length)
    .filter(({ rank }, index, all) => index === 0 || rank !== all[index - 1]?.rank);
  const lowestId = said.reduce((lowest, { id }) => Math.min(lowest, id), Infinity);
  const owned = said.find(({ pair: [, high] }) => hasOwner(high));
  return first.map((own) => {
    const { line, origins } = fillRecord([own.line, ...others.map((other) => other.line)]);
    const ranks = [own.rank, ...others.map(({ rank }) => rank)];
    let mask = maskOf(bits[own.rank] as number);
    for (const origin of origins)
      if (origin > 0) mask = (mask | maskOf(bits[ranks[origin] as number] as number)) >>> 0;
    const isPair = own.low === own.pair[0] && own.high === own.pair[1];
    const [low, high] = isPair && owned !== undefined ? owned.pair : [own.low, own.high];
    return {
      low,
      high,
      id: first.length > 1 ? own.id : lowestId,
      line,
      mask,
      origins: origins.map((origin) => ranks[origin] ?? -1),
      said,
    };
  });
}
