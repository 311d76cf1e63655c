/**
 * Sets of rows that are kept with the index, each as a bit for each row or, if that is shorter, as a list of
 * the rows in which it differs from another set: from no rows, from all rows, or from an earlier set, as the
 * rows with `cardio` do from those with `cardi`.
 */
import type { ArrayReader, ArrayStore } from './arrays.ts';
import { countBits, countOnes, fillAll, rowsOfBits, wordCount } from './bits.ts';
import type { BitsPool } from './intersect.ts';
import { flipTrigramList, formatTrigramList } from './trigram-list.ts';

/** One set. Reading a list takes about a nanosecond for each of its rows. */
export interface KeptSet {
  readonly count: number;
  /** For the running query; must not be written to. */
  read(): Uint32Array;
}

// In place of an earlier set.
const [plain, noRows, allRows, firstEarlier] = [0, 1, 2, 3];
// Of so many words of a set one is looked at to estimate in how many rows it differs from another one.
const sampledWords = 16;

/**
 * Writes sets of rows; `fill` puts those of one into bits that are all 0. The lists that are read for one set
 * have at most about `listedShare` of all rows. Needs the memory of all sets as bits.
 */
export function writeKeptSets(
  name: string,
  rowCount: number,
  setCount: number,
  listedShare: number,
  fill: (set: number, bits: Uint32Array) => void,
  store: ArrayStore,
): void {
  const words = wordCount(rowCount);
  const sets = Array.from({ length: setCount }, (_, set) => {
    const bits = new Uint32Array(words);
    fill(set, bits);
    return { bits, count: countBits(bits) };
  });
  const forms = formsOf(sets, rowCount, rowCount * listedShare);
  const bits = store.allocate(
    `${name}.bits`,
    'u32',
    forms.filter(({ base }) => base === plain).length * words,
  );
  const starts = new Uint32Array(setCount);
  const listed = new Uint32Array(setCount);
  const lists: Uint8Array[] = [];
  const different = new Uint32Array(words);
  let [bitsEnd, listsEnd] = [0, 0];
  for (const [set, { base }] of forms.entries()) {
    const own = (sets[set] as BuiltSet).bits;
    if (base === plain) {
      starts[set] = bitsEnd;
      bits.set(own, bitsEnd);
      bitsEnd += words;
      continue;
    }
    if (base >= firstEarlier) different.set((sets[base - firstEarlier] as BuiltSet).bits);
    else different.fill(0);
    if (base === allRows) fillAll(different, rowCount);
    for (let word = 0; word < words; word++)
      different[word] = (different[word] as number) ^ (own[word] as number);
    const count = countBits(different);
    const list = formatTrigramList(rowsOfBits(different, count));
    listed[set] = count;
    starts[set] = listsEnd;
    listsEnd += list.length;
    lists.push(list);
  }
  store.allocate(`${name}.counts`, 'u32', setCount).set(sets.map(({ count }) => count));
  store.allocate(`${name}.bases`, 'u32', setCount).set(forms.map(({ base }) => base));
  store.allocate(`${name}.listed`, 'u32', setCount).set(listed);
  store.allocate(`${name}.starts`, 'u32', setCount).set(starts);
  store.allocate(`${name}.lists`, 'u8', listsEnd).set(Buffer.concat(lists));
}

interface BuiltSet {
  readonly bits: Uint32Array;
  readonly count: number;
}

interface Form {
  readonly base: number;
  /** Rows in the list, as estimated. */
  readonly listed: number;
  /** Rows in all lists that are read. */
  readonly read: number;
}

// The shortest list of each set, by a sample.
function formsOf(sets: readonly BuiltSet[], rowCount: number, mostRead: number): Form[] {
  const samples = sets.map(({ bits }) => bits.filter((_, word) => word % sampledWords === 0));
  const forms: Form[] = [];
  for (const [set, { count }] of sets.entries()) {
    let best: Form = { base: plain, listed: Infinity, read: 0 };
    const tryBase = (base: number, listed: number, read: number): void => {
      if (read <= mostRead && listed < best.listed) best = { base, listed, read };
    };
    tryBase(noRows, count, count);
    tryBase(allRows, rowCount - count, rowCount - count);
    for (const [earlier, form] of forms.entries()) {
      if (Math.abs((sets[earlier] as BuiltSet).count - count) >= best.listed) continue;
      const listed =
        sampledWords * countDifferent(samples[set] as Uint32Array, samples[earlier] as Uint32Array);
      tryBase(firstEarlier + earlier, listed, form.read + listed);
    }
    forms.push(best);
  }
  return forms;
}

function countDifferent(a: Uint32Array, b: Uint32Array): number {
  let count = 0;
  for (let word = 0; word < a.length; word++) count += countOnes((a[word] as number) ^ (b[word] as number));
  return count;
}

/** Sets that are not kept as bits are read into sets of the pool. */
export function openKeptSets(name: string, rowCount: number, arrays: ArrayReader, pool: BitsPool): KeptSet[] {
  const words = wordCount(rowCount);
  const bits = arrays.get(`${name}.bits`, 'u32');
  const bases = arrays.get(`${name}.bases`, 'u32');
  const listed = arrays.get(`${name}.listed`, 'u32');
  const starts = arrays.get(`${name}.starts`, 'u32');
  const lists = arrays.get(`${name}.lists`, 'u8');
  const bitsAt = (start: number): Uint32Array => bits.subarray(start, start + words);

  function fill(set: number, into: Uint32Array): void {
    const base = bases[set] as number;
    const start = starts[set] as number;
    if (base === plain) {
      into.set(bitsAt(start));
      return;
    }
    if (base >= firstEarlier) fill(base - firstEarlier, into);
    else into.fill(0);
    if (base === allRows) fillAll(into, rowCount);
    flipTrigramList({ lists, start, count: listed[set] as number }, into);
  }

  return Array.from(arrays.get(`${name}.counts`, 'u32'), (count, set) => ({
    count,
    read() {
      if (bases[set] === plain) return bitsAt(starts[set] as number);
      const found = pool.take();
      fill(set, found);
      return found;
    },
  }));
}
