import type { ArrayReader } from './arrays.ts';
import { intersectGramList, readGramList, type GramList } from './gram-list.ts';
import { lowerBound, type TextColumn } from './text-column.ts';
import { selectGroups, selectRanges, type Selector } from './selector.ts';

/** Lists of the groups that hold one, two or three bytes in a row, and sets of rows for the most frequent of them. */
export interface GramIndex {
  /** Rows whose folded text holds `wanted` (UTF-8, at least one byte) anywhere. */
  find(wanted: Uint8Array): Selector;
}

interface GramTable {
  readonly keys: Uint32Array;
  readonly counts: Uint32Array;
  readonly offsets: Uint32Array;
  readonly lists: Uint8Array;
}

const maxGram = 3;
// Rarer lists first; beyond this factor checking the texts costs less than reading another list.
const worthwhileFactor = 24;

/** Undefined for columns without grams. */
export function openGramIndex(column: TextColumn, arrays: ArrayReader): GramIndex | undefined {
  const { name } = column;
  if (arrays.find(`${name}.grams1.keys`, 'u32') === undefined) return undefined;
  const tables = [1, 2, 3].map((size) => openTable(`${name}.grams${size}`, arrays));
  const hot = openHot(name, arrays);
  const findList = (wanted: Uint8Array, start: number, size: number): GramList | undefined =>
    listOf(tables[size - 1] as GramTable, keyAt(wanted, start, size));
  return {
    find(wanted) {
      if (wanted.length <= maxGram) {
        const known = hot.get(wanted.length * 0x1000000 + keyAt(wanted, 0, wanted.length));
        if (known !== undefined) return known;
        const list = findList(wanted, 0, wanted.length);
        return list === undefined ? selectRanges(column, new Uint32Array(0)) : selectGroups(column, readGramList(list));
      }
      return selectGroups(column, findLong(column, wanted, findList));
    },
  };
}

function findLong(
  column: TextColumn,
  wanted: Uint8Array,
  findList: (wanted: Uint8Array, start: number, size: number) => GramList | undefined,
): Uint32Array {
  const lists: GramList[] = [];
  for (let start = 0; start + maxGram <= wanted.length; start++) {
    const list = findList(wanted, start, maxGram);
    if (list === undefined) return new Uint32Array(0);
    if (!lists.some((known) => known.start === list.start)) lists.push(list);
  }
  lists.sort((a, b) => a.count - b.count);
  const [rarest, ...others] = lists;
  if (rarest === undefined) return new Uint32Array(0);
  let groups = readGramList(rarest);
  for (const list of others) {
    if (list.count > groups.length * worthwhileFactor) break;
    groups = intersectGramList(groups, list);
  }
  return keepContaining(column, groups, wanted);
}

/** Those of the groups whose folded text really holds `wanted`, over the front of `groups`. */
export function keepContaining(column: TextColumn, groups: Uint32Array, wanted: Uint8Array): Uint32Array {
  let kept = 0;
  for (let index = 0; index < groups.length; index++) {
    const group = groups[index] as number;
    groups[kept] = group;
    if (holds(column.scratch, column.loadFolded(group), wanted)) kept++;
  }
  return groups.subarray(0, kept);
}

function holds(text: Uint8Array, length: number, wanted: Uint8Array): boolean {
  const first = wanted[0] as number;
  for (let at = 0; at + wanted.length <= length; at++) {
    if (text[at] !== first) continue;
    let same = 1;
    while (same < wanted.length && text[at + same] === wanted[same]) same++;
    if (same === wanted.length) return true;
  }
  return false;
}

function keyAt(wanted: Uint8Array, start: number, size: number): number {
  let key = 0;
  for (let at = start; at < start + size; at++) key = key * 256 + (wanted[at] as number);
  return key;
}

function openTable(name: string, arrays: ArrayReader): GramTable {
  return {
    keys: arrays.get(`${name}.keys`, 'u32'),
    counts: arrays.get(`${name}.counts`, 'u32'),
    offsets: arrays.get(`${name}.offsets`, 'u32'),
    lists: arrays.get(`${name}.lists`, 'u8'),
  };
}

function listOf({ keys, counts, offsets, lists }: GramTable, key: number): GramList | undefined {
  const index = lowerBound(keys, key);
  return keys[index] === key ? { lists, start: offsets[index] as number, count: counts[index] as number } : undefined;
}

function openHot(name: string, arrays: ArrayReader): ReadonlyMap<number, Selector> {
  const counts = arrays.get(`${name}.hot.counts`, 'u32');
  return new Map(
    [...arrays.get(`${name}.hot.keys`, 'u32')].map((key, index) => [
      key,
      { kind: 'bits', bits: arrays.get(`${name}.hot.${key}`, 'u32'), count: counts[index] as number },
    ]),
  );
}
