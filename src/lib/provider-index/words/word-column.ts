import { Ascending } from '../ascending.ts';
import type { ArrayReader } from '../arrays.ts';
import type { BitsPool } from '../intersect.ts';
import { openKeptSets, type KeptSet } from '../kept-sets.ts';
import type { TextColumn } from '../text-column.ts';
import { readGroupLists } from './group-lists.ts';
import { wordArrays, type WordColumnName } from '../word-columns.ts';

/** The words of a column in code-point order, read-only. */
export interface WordColumn {
  readonly column: TextColumn;
  readonly wordCount: number;
  readonly bytes: Uint8Array;
  readonly offsets: Ascending;
  /** The groups of the words [first, end), ascending for each word. */
  groupsOf(first: number, end: number): Uint32Array;
  /** Words [first, end) that begin with the text, or that are it. */
  find(text: Uint8Array, isWhole: boolean): readonly [number, number];
  /** True if it is a word and no other one begins with it. */
  isOnlyBegunBy(text: Uint8Array): boolean;
  /** The rows of the words that {@link find} finds, if they are kept as a set; for the running query. */
  frequentRows(text: Uint8Array, isWhole: boolean): Uint32Array | undefined;
  wordAt(word: number): string;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export function openWordColumn(
  name: WordColumnName,
  column: TextColumn,
  arrays: ArrayReader,
  rowCount: number,
  pool: BitsPool,
): WordColumn {
  const named = wordArrays(name);
  const bytes = arrays.get(named.bytes, 'u8');
  const offsets = new Ascending(named.offsets, arrays);
  const lists = { starts: new Ascending(named.starts, arrays), bytes: arrays.get(named.groups, 'u8') };
  const frequent = openFrequent(name, arrays, rowCount, pool);
  const count = offsets.length - 1;

  // Negative if the word comes before all texts with that beginning, zero if it has it.
  function compareStart(word: number, text: Uint8Array): number {
    const start = offsets.at(word);
    const length = offsets.at(word + 1) - start;
    for (let at = 0; at < text.length; at++) {
      if (at === length) return -1;
      const difference = (bytes[start + at] as number) - (text[at] as number);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  function bound(text: Uint8Array, low: number, isBelow: (order: number) => boolean): number {
    let [from, to] = [low, count];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (isBelow(compareStart(middle, text))) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  function find(text: Uint8Array, isWhole: boolean): readonly [number, number] {
    const first = bound(text, 0, (order) => order < 0);
    if (!isWhole) return [first, bound(text, first, (order) => order <= 0)];
    const isFound =
      first < count &&
      offsets.at(first + 1) - offsets.at(first) === text.length &&
      compareStart(first, text) === 0;
    return [first, isFound ? first + 1 : first];
  }

  return {
    column,
    wordCount: count,
    bytes,
    offsets,
    groupsOf: (first, end) => readGroupLists(lists, first, end),
    find,
    isOnlyBegunBy(text) {
      const [first, end] = find(text, true);
      return end > first && (end === count || compareStart(end, text) !== 0);
    },
    frequentRows: (text, isWhole) => frequent.get(keyOf(text, isWhole))?.read(),
    wordAt: (word) => decoder.decode(bytes.slice(offsets.at(word), offsets.at(word + 1))),
  };
}

function keyOf(text: Uint8Array, isWhole: boolean): string {
  return `${Buffer.from(text).toString('latin1')}${isWhole ? '\0' : ''}`;
}

function openFrequent(
  name: WordColumnName,
  arrays: ArrayReader,
  rowCount: number,
  pool: BitsPool,
): ReadonlyMap<string, KeptSet> {
  const named = wordArrays(name);
  const keys = Buffer.from(arrays.get(named.frequentKeys, 'u8'));
  const offsets = arrays.get(named.frequentOffsets, 'u32');
  const sets = openKeptSets(named.frequent, rowCount, arrays, pool);
  return new Map(
    Array.from(arrays.get(named.frequentSets, 'u32'), (set, index) => [
      keys.toString('latin1', offsets[index], offsets[index + 1]),
      sets[set] as KeptSet,
    ]),
  );
}
