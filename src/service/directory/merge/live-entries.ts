import { setImmediate as nextTurn } from 'node:timers/promises';
import { entriesPerTurn } from '../limits.ts';
import { readKeys, readLines, type Block } from '../records/block.ts';
import type { AddressTable } from '../records/address-table.ts';
import { KeyTable } from '../records/key-table.ts';
import { textOf } from '../records/record-line.ts';
import { completeTimes, timeOfLoad, unpackTimes } from '../store/change-times.ts';
import { readBlockKeys, readEntryKeys, type BlockKeys } from '../store/entry-keys.ts';
import { readBlock } from '../store/generation.ts';
import { findBlocks } from '../store/lookups.ts';
import { hashAddress, type HashSeed } from '../store/provisioned.ts';
import type { DirectoryDb } from '../store/state.ts';
import type { LoadRow } from '../store/tables.ts';

/**
 * The entries of one block by their pairs. A pair is the hash of Direct address and NPI, by which the records
 * of different sources are the same one; it is also the key, unless the file had its own keys.
 */
export interface PairBlock {
  readonly load: LoadRow;
  readonly sequence: number;
  readonly entryCount: number;
  /** Hash low, hash high, id, check sum, again and again. */
  readonly keys: Uint32Array;
  /** Hash low, that of the address alone, and high of an entry's pair, `pairStride` apart. */
  readonly pairs: Uint32Array;
  readonly pairStride: number;
  /** The lines, if the pairs were made from them. */
  readonly lines?: readonly string[];
  /** 1 for each entry that newer loads of the chain replace, and for each removal. */
  readonly skip?: Uint8Array;
  /** Time of the last change of each entry's record: seconds since 1970. */
  readonly changed: Uint32Array;
}

/**
 * The blocks of a load in their order. Reads keys only, unless records of the load have keys of their file.
 */
export async function* readPairs(db: DirectoryDb, load: LoadRow, seed: HashSeed): AsyncGenerator<PairBlock> {
  for await (const keys of readEntryKeys(db, load)) yield readPairBlock(db, load, keys, seed);
}

async function readPairBlock(
  db: DirectoryDb,
  load: LoadRow,
  { sequence, keys, packedTimes }: BlockKeys,
  seed: HashSeed,
): Promise<PairBlock> {
  const entryCount = keys.length / 4;
  const changed = completeTimes(unpackTimes(packedTimes), entryCount, timeOfLoad(load));
  const block = { load, sequence, entryCount, keys, changed };
  if (load.file_keys === 0) return { ...block, pairs: keys, pairStride: 4 };
  return { ...block, ...(await pairsOfLines(await readBlock(db, load.id, sequence), seed)) };
}

/** The pairs of a block's entries, made from the lines. */
export async function pairsOfLines(
  block: Block,
  seed: HashSeed,
): Promise<Pick<PairBlock, 'lines' | 'pairs' | 'pairStride'>> {
  const lines = readLines(block);
  const keys = readKeys(block);
  const pairs = new Uint32Array(lines.length * 2);
  const hash = { low: 0, high: 0 };
  for (const [entry, line] of lines.entries()) {
    if (entry % entriesPerTurn === 0) await nextTurn();
    if (keys[entry * 4 + 2] === 0) continue;
    hashAddress(textOf(line, 'directAddress'), textOf(line, 'npi'), seed, hash);
    pairs[entry * 2] = hash.low;
    pairs[entry * 2 + 1] = hash.high;
  }
  return { lines, pairs, pairStride: 2 };
}

/** The same for a whole generation, newest load first, with replaced and removed entries marked. */
export async function* readLivePairs(
  db: DirectoryDb,
  chain: readonly LoadRow[],
  seed: HashSeed,
): AsyncGenerator<PairBlock> {
  const replaced = new KeyTable();
  for (const [depth, load] of chain.entries()) {
    const remembers = depth < chain.length - 1;
    for await (const block of readPairs(db, load, seed)) {
      yield replaced.size === 0 && !remembers
        ? block
        : { ...block, skip: markReplaced(block, replaced, remembers) };
    }
  }
}

/**
 * The same for a few addresses only: blocks with entries of one of them, in which every other entry is
 * skipped. Reads a few blocks if all loads have lookups, else the keys of all.
 */
export async function* readLivePairsOf(
  db: DirectoryDb,
  chain: readonly LoadRow[],
  seed: HashSeed,
  wanted: AddressTable,
): AsyncGenerator<PairBlock> {
  const reader = createKeyReader(db);
  const hashes: number[] = [];
  wanted.forEach((low) => hashes.push(low));
  const places: (readonly number[])[] = [];
  for (const load of chain) {
    const found = await reader.findBlocks(load, hashes);
    if (found === undefined) return yield* readLivePairs(db, chain, seed);
    places.push(found);
  }
  for (const [depth, load] of chain.entries()) {
    for (const sequence of places[depth] ?? []) {
      const block = await readPairBlock(db, load, await reader.read(load, sequence), seed);
      const { keys, pairs, pairStride, entryCount } = block;
      const skip = new Uint8Array(entryCount).fill(1);
      for (let entry = 0; entry < entryCount; entry++) {
        const at = entry * pairStride;
        if (wanted.find(pairs[at] as number) < 0 || keys[entry * 4 + 2] === 0) continue;
        const [low, high] = [keys[entry * 4] as number, keys[entry * 4 + 1] as number];
        if (!(await reader.hasKey(chain.slice(0, depth), low, high))) skip[entry] = 0;
      }
      yield { ...block, skip };
    }
  }
}

/** Reads keys of single blocks, each once. */
function createKeyReader(db: DirectoryDb) {
  const known = new Map<string, BlockKeys>();

  async function read(load: LoadRow, sequence: number): Promise<BlockKeys> {
    const name = `${load.id} ${sequence}`;
    const block = known.get(name) ?? (await readBlockKeys(db, load.id, sequence));
    known.set(name, block);
    return block;
  }

  /** The blocks that may have one of the hashes; undefined without a lookup. */
  async function findBlocksOf(
    load: LoadRow,
    hashes: readonly number[],
  ): Promise<readonly number[] | undefined> {
    const all = new Set<number>();
    for (const low of hashes) {
      const found = await findBlocks(db, load, low);
      if (found === undefined) return undefined;
      for (const sequence of found) all.add(sequence);
    }
    return [...all].toSorted((a, b) => a - b);
  }

  return {
    read,
    findBlocks: findBlocksOf,
    /** True if one of the loads has an entry of the key. */
    async hasKey(loads: readonly LoadRow[], low: number, high: number): Promise<boolean> {
      for (const load of loads) {
        for (const sequence of (await findBlocks(db, load, low)) ?? []) {
          const { keys } = await read(load, sequence);
          for (let at = 0; at < keys.length; at += 4)
            if (keys[at] === low && keys[at + 1] === high) return true;
        }
      }
      return false;
    },
  };
}

function markReplaced({ keys, entryCount }: PairBlock, replaced: KeyTable, remembers: boolean): Uint8Array {
  const skip = new Uint8Array(entryCount);
  for (let entry = 0; entry < entryCount; entry++) {
    const low = keys[entry * 4] as number;
    const high = keys[entry * 4 + 1] as number;
    const isReplaced = replaced.find(low, high) >= 0;
    if (isReplaced || keys[entry * 4 + 2] === 0) skip[entry] = 1;
    if (!isReplaced && remembers) replaced.add(low, high, 1, 0, true);
  }
  return skip;
}

/** Visits the entries of a block that count, with the hash of each one's pair. */
export function forEachLive(
  block: PairBlock,
  visit: (low: number, high: number, id: number, entry: number) => void,
): void {
  const { keys, pairs, pairStride, entryCount } = block;
  for (let entry = 0; entry < entryCount; entry++) {
    if (!isLive(block, entry)) continue;
    const at = entry * pairStride;
    visit(pairs[at] as number, pairs[at + 1] as number, keys[entry * 4 + 2] as number, entry);
  }
}

/** True for an entry that counts. */
export function isLive({ skip, keys }: Pick<PairBlock, 'skip' | 'keys'>, entry: number): boolean {
  return skip === undefined ? keys[entry * 4 + 2] !== 0 : skip[entry] === 0;
}

/** The lines of a block that was read by its pairs. */
export async function linesOf(db: DirectoryDb, block: PairBlock): Promise<readonly string[]> {
  return block.lines ?? readLines(await readBlock(db, block.load.id, block.sequence));
}
