import { lowerBound, type ArrayReader } from './arrays.ts';
import { countBits, rowsOfBits, setBit, wordCount } from './bits.ts';
import type { BitsPool } from './intersect.ts';
import { openKeptSets, type KeptSet } from './kept-sets.ts';
import {
  intersectTrigramList,
  isInsideCharacter,
  readTrigramList,
  type TrigramList,
} from './trigram-list.ts';
import { selectGroups, type Selector } from './selector.ts';
import { AlikeRuns, prepareInside, type TextColumn } from './text-column.ts';

/** Finds texts inside the values of a column. */
export interface TrigramIndex {
  /** Rows whose folded text holds `wanted` (UTF-8, at least one byte) anywhere. */
  find(wanted: Uint8Array): Selector;
}

/** For runs of three bytes that begin with a character, the groups that hold them. */
interface TrigramTable {
  readonly keys: Uint32Array;
  readonly counts: Uint32Array;
  readonly offsets: Uint32Array;
  readonly lists: Uint8Array;
}

const trigramBytes = 3;
// Rarer lists first; beyond this factor checking the texts costs less than reading another list.
const worthwhileFactor = 16;
// A run that overlaps one that was read is often in the same texts. Once one leaves more than this share of
// them, no other such run is read.
const uselessShare = 0.8;
// Texts that are brought near together.
const chunkGroups = 64;

/** Undefined for columns without trigrams. */
export function openTrigramIndex(
  column: TextColumn,
  arrays: ArrayReader,
  rowCount: number,
  pool: BitsPool,
): TrigramIndex | undefined {
  const keys = arrays.find(`${column.name}.grams.keys`, 'u32');
  if (keys === undefined) return undefined;
  const table: TrigramTable = {
    keys,
    counts: arrays.get(`${column.name}.grams.counts`, 'u32'),
    offsets: arrays.get(`${column.name}.grams.offsets`, 'u32'),
    lists: arrays.get(`${column.name}.grams.lists`, 'u8'),
  };
  const frequent = openFrequent(column.name, arrays, rowCount, pool);
  return {
    find(wanted) {
      const known = frequent.get(Buffer.from(wanted).toString('latin1'));
      if (known !== undefined) return selectKept(known);
      // Zero bytes stand for the end of a text in the lists.
      if (wanted.includes(0)) return selectGroups(column, keepContaining(column, allGroups(column), wanted));
      return wanted.length < trigramBytes
        ? findShort(column, table, wanted)
        : selectGroups(column, findLong(column, table, wanted));
    },
  };
}

function allGroups(column: TextColumn): Uint32Array {
  return Uint32Array.from({ length: column.groupCount }, (_, group) => group);
}

// A run of one or two bytes begins some runs of three, whose keys lie side by side.
function findShort(column: TextColumn, table: TrigramTable, wanted: Uint8Array): Selector {
  const span = 256 ** (trigramBytes - wanted.length);
  const key = keyAt(wanted, 0, wanted.length) * span;
  const first = lowerBound(table.keys, key);
  const end = lowerBound(table.keys, key + span);
  if (end - first <= 1)
    return selectGroups(column, first < end ? readTrigramList(listAt(table, first)) : new Uint32Array(0));
  const isListed = new Uint32Array(wordCount(column.groupCount));
  for (let index = first; index < end; index++) {
    const groups = readTrigramList(listAt(table, index));
    for (let at = 0; at < groups.length; at++) setBit(isListed, groups[at] as number);
  }
  return selectGroups(column, rowsOfBits(isListed, countBits(isListed)));
}

function findLong(column: TextColumn, table: TrigramTable, wanted: Uint8Array): Uint32Array {
  const found: { readonly place: number; readonly list: TrigramList }[] = [];
  for (let place = 0; place + trigramBytes <= wanted.length; place++) {
    if (isInsideCharacter(wanted[place] as number)) continue;
    const index = lowerBound(table.keys, keyAt(wanted, place, trigramBytes));
    if (table.keys[index] !== keyAt(wanted, place, trigramBytes)) return new Uint32Array(0);
    found.push({ place, list: listAt(table, index) });
  }
  found.sort((a, b) => a.list.count - b.list.count);
  const read: number[] = [];
  let groups: Uint32Array = new Uint32Array(0);
  let isNearbyUseless = false;
  for (const { place, list } of found) {
    const before = groups.length;
    const isNearby = read.some((other) => Math.abs(other - place) < trigramBytes);
    if (read.length === 0) groups = readTrigramList(list);
    else if (list.count > before * worthwhileFactor) break;
    else if (isNearby && isNearbyUseless) continue;
    else groups = intersectTrigramList(groups, list);
    if (isNearby) isNearbyUseless = groups.length > before * uselessShare;
    read.push(place);
  }
  return wanted.length === trigramBytes ? groups : keepContaining(column, groups, wanted);
}

/** Those of the groups whose folded text really holds `wanted`, over the front of `groups`. */
export function keepContaining(column: TextColumn, groups: Uint32Array, wanted: Uint8Array): Uint32Array {
  const inside = prepareInside(wanted);
  const runs = new AlikeRuns(column);
  const groupAt = (place: number): number => groups[place] as number;
  let kept = 0;
  for (let at = 0, near = 0; at < groups.length;) {
    if (at >= near) {
      near = at + chunkGroups;
      column.approach(groups.subarray(at, near));
    }
    const end = column.endInside(groups[at] as number, inside);
    const next = end === 0 ? at + 1 : runs.endFrom(at, groups.length, groupAt, end);
    if (end === 0) at = next;
    else while (at < next) groups[kept++] = groups[at++] as number;
  }
  return groups.subarray(0, kept);
}

function keyAt(wanted: Uint8Array, start: number, size: number): number {
  let key = 0;
  for (let at = start; at < start + size; at++) key = key * 256 + (wanted[at] as number);
  return key;
}

function listAt({ counts, offsets, lists }: TrigramTable, index: number): TrigramList {
  return { lists, start: offsets[index] as number, count: counts[index] as number };
}

// Texts inside many rows, with the sets of those rows, keyed by their bytes as Latin-1.
function openFrequent(
  name: string,
  arrays: ArrayReader,
  rowCount: number,
  pool: BitsPool,
): ReadonlyMap<string, KeptSet> {
  const texts = Buffer.from(arrays.get(`${name}.frequent.texts`, 'u8'));
  const sets = openKeptSets(`${name}.frequent`, rowCount, arrays, pool);
  const frequent = new Map<string, KeptSet>();
  let position = 0;
  for (const set of arrays.get(`${name}.frequent.sets`, 'u32')) {
    const end = position + 1 + (texts[position] as number);
    frequent.set(texts.toString('latin1', position + 1, end), sets[set] as KeptSet);
    position = end;
  }
  return frequent;
}

// Read once for a query, and only if more than the number of its rows is needed.
function selectKept(set: KeptSet): Selector {
  let bits: Uint32Array | undefined;
  return {
    kind: 'bits',
    count: set.count,
    get bits() {
      return (bits ??= set.read());
    },
  };
}
