/**
 * Sets of rows that are kept with the index, each as a bit for each row or, if that is shorter, as a list of
 * the rows in which it differs from another set: from no rows, from all rows, or from a set that it is part
 * of, as the rows with `cardio` are of those with `cardi`.
 */
import type { ArrayReader, ArrayStore } from './arrays.ts';
import { fillAll, rowsOfBits, wordCount } from './bits.ts';
import { formatTrigramList, readTrigramList } from './trigram-list.ts';

/** One set. Reading a list takes about a nanosecond for each of its rows. */
export interface KeptSet {
  readonly count: number;
  /** Must not be written to. */
  read(): Uint32Array;
}

/** A set to be written. */
export interface KeptSource {
  readonly count: number;
  /** The number of an earlier set that has all its rows. */
  readonly parent: number | undefined;
}

// In place of a parent.
const [plain, noRows, allRows, firstParent] = [0, 1, 2, 3];
// To read a set, lists with at most this share of all rows are read.
const listedShare = 1 / 8;

/** Writes sets of rows; `fill` puts those of one into bits that are all 0. */
export function writeKeptSets(
  name: string,
  rowCount: number,
  sources: readonly KeptSource[],
  fill: (set: number, bits: Uint32Array) => void,
  store: ArrayStore,
): void {
  const words = wordCount(rowCount);
  const forms = formsOf(sources, rowCount);
  const bits = store.allocate(
    `${name}.bits`,
    'u32',
    forms.filter(({ base }) => base === plain).length * words,
  );
  store.allocate(`${name}.counts`, 'u32', sources.length).set(sources.map(({ count }) => count));
  store.allocate(`${name}.bases`, 'u32', sources.length).set(forms.map(({ base }) => base));
  store.allocate(`${name}.listed`, 'u32', sources.length).set(forms.map(({ listed }) => listed));
  const starts = store.allocate(`${name}.starts`, 'u32', sources.length);
  const [own, other] = [new Uint32Array(words), new Uint32Array(words)];
  const lists: Uint8Array[] = [];
  let [bitsEnd, listsEnd] = [0, 0];
  for (const [set, { base, listed }] of forms.entries()) {
    if (base === plain) {
      starts[set] = bitsEnd;
      fill(set, bits.subarray(bitsEnd, (bitsEnd += words)));
      continue;
    }
    own.fill(0);
    fill(set, own);
    other.fill(0);
    if (base === allRows) fillAll(other, rowCount);
    else if (base >= firstParent) fill(base - firstParent, other);
    for (let word = 0; word < words; word++) own[word] = (own[word] as number) ^ (other[word] as number);
    const list = formatTrigramList(rowsOfBits(own, listed));
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

interface Form {
  readonly base: number;
  /** Rows in the list. */
  readonly listed: number;
  /** Rows in all lists that are read. */
  readonly read: number;
}

function formsOf(sources: readonly KeptSource[], rowCount: number): Form[] {
  const forms: Form[] = [];
  for (const { count, parent } of sources) {
    const possible: Form[] = [
      { base: noRows, listed: count, read: count },
      { base: allRows, listed: rowCount - count, read: rowCount - count },
    ];
    if (parent !== undefined) {
      const listed = (sources[parent] as KeptSource).count - count;
      possible.push({ base: firstParent + parent, listed, read: listed + (forms[parent] as Form).read });
    }
    const short = possible.filter(({ read }) => read <= rowCount * listedShare);
    short.sort((a, b) => a.listed - b.listed);
    forms.push(short[0] ?? { base: plain, listed: 0, read: 0 });
  }
  return forms;
}

export function openKeptSets(name: string, rowCount: number, arrays: ArrayReader): KeptSet[] {
  const words = wordCount(rowCount);
  const bits = arrays.get(`${name}.bits`, 'u32');
  const bases = arrays.get(`${name}.bases`, 'u32');
  const listed = arrays.get(`${name}.listed`, 'u32');
  const starts = arrays.get(`${name}.starts`, 'u32');
  const lists = arrays.get(`${name}.lists`, 'u8');

  function read(set: number): Uint32Array {
    const base = bases[set] as number;
    const start = starts[set] as number;
    if (base === plain) return bits.subarray(start, start + words);
    const found = base >= firstParent ? read(base - firstParent).slice() : new Uint32Array(words);
    if (base === allRows) fillAll(found, rowCount);
    const rows = readTrigramList({ lists, start, count: listed[set] as number });
    for (let at = 0; at < rows.length; at++) {
      const row = rows[at] as number;
      found[row >>> 5] = (found[row >>> 5] as number) ^ (1 << (row & 31));
    }
    return found;
  }

  return Array.from(arrays.get(`${name}.counts`, 'u32'), (count, set) => ({ count, read: () => read(set) }));
}
