/**
 * Sets of rows that are kept with the index, each in the shortest of three forms: a bit for each row; a list
 * of differences, if at most an eighth of all rows are in it; the list of the rows that are not in it, if
 * those are at most an eighth.
 */
import type { ArrayReader, ArrayStore } from './arrays.ts';
import { invert, rowsOfBits, setBit, wordCount } from './bits.ts';
import { formatTrigramList, readTrigramList } from './trigram-list.ts';

/** One set. Reading a list takes about a nanosecond for each of its rows. */
export interface KeptSet {
  readonly count: number;
  /** Must not be written to. */
  read(): Uint32Array;
}

function isListed(rows: number, rowCount: number): boolean {
  return rows * 8 <= rowCount;
}

/** Writes sets of so many rows each; `fill` puts the rows of one into bits that are all 0. */
export function writeKeptSets(
  name: string,
  rowCount: number,
  counts: readonly number[],
  fill: (set: number, bits: Uint32Array) => void,
  store: ArrayStore,
): void {
  const words = wordCount(rowCount);
  const isList = counts.map((count) => isListed(count, rowCount) || isListed(rowCount - count, rowCount));
  const plain = store.allocate(`${name}.bits`, 'u32', isList.filter((is) => !is).length * words);
  const starts = store.allocate(`${name}.starts`, 'u32', counts.length);
  store.allocate(`${name}.counts`, 'u32', counts.length).set(counts);
  const scratch = new Uint32Array(words);
  const lists: Uint8Array[] = [];
  let plainEnd = 0;
  let listsEnd = 0;
  for (const [set, count] of counts.entries()) {
    if (isList[set] !== true) {
      starts[set] = plainEnd;
      fill(set, plain.subarray(plainEnd, (plainEnd += words)));
      continue;
    }
    scratch.fill(0);
    fill(set, scratch);
    const isInverse = !isListed(count, rowCount);
    if (isInverse) invert(scratch, rowCount);
    const list = formatTrigramList(rowsOfBits(scratch, isInverse ? rowCount - count : count));
    starts[set] = listsEnd;
    listsEnd += list.length;
    lists.push(list);
  }
  const bytes = store.allocate(`${name}.lists`, 'u8', listsEnd);
  let at = 0;
  for (const list of lists) {
    bytes.set(list, at);
    at += list.length;
  }
}

export function openKeptSets(name: string, rowCount: number, arrays: ArrayReader): KeptSet[] {
  const words = wordCount(rowCount);
  const plain = arrays.get(`${name}.bits`, 'u32');
  const starts = arrays.get(`${name}.starts`, 'u32');
  const lists = arrays.get(`${name}.lists`, 'u8');
  return Array.from(arrays.get(`${name}.counts`, 'u32'), (count, set): KeptSet => {
    const start = starts[set] as number;
    const isInverse = !isListed(count, rowCount);
    if (isInverse && !isListed(rowCount - count, rowCount)) {
      const bits = plain.subarray(start, start + words);
      return { count, read: () => bits };
    }
    return {
      count,
      read() {
        const bits = new Uint32Array(words);
        const rows = readTrigramList({ lists, start, count: isInverse ? rowCount - count : count });
        for (let at = 0; at < rows.length; at++) setBit(bits, rows[at] as number);
        if (isInverse) invert(bits, rowCount);
        return bits;
      },
    };
  });
}
