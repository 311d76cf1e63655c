import type { ArrayStore } from '../arrays.ts';
import type { GramList } from '../gram-list.ts';
import type { BuiltColumn } from './build-column.ts';

/**
 * Lists, for every run of one, two or three bytes, the groups whose folded text holds it: ascending group numbers as
 * differences, seven bits a byte. `keys` are `byte1 << 16 | byte2 << 8 | byte3` (fewer bytes for shorter runs), ascending.
 */
export function buildGrams({ name, folded, starts }: BuiltColumn, store: ArrayStore): GramRows[] {
  const alphabet = alphabetOf(folded.bytes);
  const hot: GramRows[] = [];
  for (const size of [1, 2, 3]) {
    const table = countGrams(folded, alphabet, size, starts);
    const { keys, gramCounts, offsets, lists } = writeGrams(name, size, folded, alphabet, table, store);
    for (let index = 0; index < keys.length; index++) {
      const rowCount = table.rowCounts[table.present[index] as number] as number;
      const list = { lists, start: offsets[index] as number, count: gramCounts[index] as number };
      hot.push({ column: name, size, key: keys[index] as number, rowCount, list });
    }
  }
  return hot;
}

/** How many rows a run of bytes matches. */
export interface GramRows {
  readonly column: string;
  readonly size: number;
  readonly key: number;
  readonly rowCount: number;
  readonly list: GramList;
}

interface Alphabet {
  /** Byte to number from 0 in ascending order of the bytes, 255 for bytes that do not occur. */
  readonly numberOf: Uint8Array;
  readonly bytes: readonly number[];
}

interface GramTable {
  /** Cells of grams that occur, in ascending order. */
  readonly present: Uint32Array;
  readonly counts: Uint32Array;
  readonly sizes: Uint32Array;
  readonly rowCounts: Float64Array;
}

function alphabetOf(bytes: Uint8Array): Alphabet {
  const isUsed = new Uint8Array(256);
  for (let index = 0; index < bytes.length; index++) isUsed[bytes[index] as number] = 1;
  const used = [...isUsed.keys()].filter((byte) => isUsed[byte] === 1);
  const numberOf = new Uint8Array(256).fill(255);
  for (const [index, byte] of used.entries()) numberOf[byte] = index;
  return { numberOf, bytes: used };
}

function keyOf(cell: number, { bytes }: Alphabet, size: number): number {
  let key = 0;
  let rest = cell;
  for (let place = 0; place < size; place++) {
    key += (bytes[rest % bytes.length] as number) * 256 ** place;
    rest = Math.floor(rest / bytes.length);
  }
  return key;
}

// A cell of the table belongs to each possible gram: the numbers of its bytes as digits.
function countGrams(folded: BuiltColumn['folded'], alphabet: Alphabet, size: number, starts: Uint32Array): GramTable {
  const cellCount = alphabet.bytes.length ** size;
  const counts = new Uint32Array(cellCount);
  const sizes = new Uint32Array(cellCount);
  const rowCounts = new Float64Array(cellCount);
  // The group that was listed last, plus one.
  const last = new Uint32Array(cellCount);
  const { bytes, offsets, count } = folded;
  const { numberOf } = alphabet;
  const base = alphabet.bytes.length;
  const keep = base ** (size - 1);
  for (let group = 0; group < count; group++) {
    const start = offsets[group] as number;
    const end = offsets[group + 1] as number;
    const rows = (starts[group + 1] as number) - (starts[group] as number);
    let cell = 0;
    for (let at = start; at < end; at++) {
      cell = (cell % keep) * base + (numberOf[bytes[at] as number] as number);
      if (at - start < size - 1) continue;
      const previous = last[cell] as number;
      if (previous === group + 1) continue;
      last[cell] = group + 1;
      counts[cell] = (counts[cell] as number) + 1;
      rowCounts[cell] = (rowCounts[cell] as number) + rows;
      const step = group + 1 - previous;
      sizes[cell] = (sizes[cell] as number) + (step < 0x80 ? 1 : step < 0x4000 ? 2 : step < 0x200000 ? 3 : 4);
    }
  }
  const present: number[] = [];
  for (let cell = 0; cell < cellCount; cell++) if (counts[cell] !== 0) present.push(cell);
  return { present: Uint32Array.from(present), counts, sizes, rowCounts };
}

function writeGrams(name: string, size: number, folded: BuiltColumn['folded'], alphabet: Alphabet, table: GramTable, store: ArrayStore): WrittenGrams {
  const { present, counts, sizes } = table;
  const keys = store.allocate(`${name}.grams${size}.keys`, 'u32', present.length);
  const gramCounts = store.allocate(`${name}.grams${size}.counts`, 'u32', present.length);
  const offsets = store.allocate(`${name}.grams${size}.offsets`, 'u32', present.length + 1);
  const cursors = new Uint32Array(counts.length);
  for (let index = 0; index < present.length; index++) {
    const cell = present[index] as number;
    keys[index] = keyOf(cell, alphabet, size);
    gramCounts[index] = counts[cell] as number;
    cursors[cell] = offsets[index] as number;
    offsets[index + 1] = (offsets[index] as number) + (sizes[cell] as number);
  }
  const lists = store.allocate(`${name}.grams${size}.lists`, 'u8', offsets[present.length] as number);
  fillLists(folded, alphabet, size, cursors, lists);
  return { keys, gramCounts, offsets, lists };
}

interface WrittenGrams {
  readonly keys: Uint32Array;
  readonly gramCounts: Uint32Array;
  readonly offsets: Uint32Array;
  readonly lists: Uint8Array;
}

function fillLists(folded: BuiltColumn['folded'], alphabet: Alphabet, size: number, cursors: Uint32Array, lists: Uint8Array): void {
  const { bytes, offsets, count } = folded;
  const { numberOf } = alphabet;
  const base = alphabet.bytes.length;
  const keep = base ** (size - 1);
  const last = new Uint32Array(cursors.length);
  for (let group = 0; group < count; group++) {
    const start = offsets[group] as number;
    const end = offsets[group + 1] as number;
    let cell = 0;
    for (let at = start; at < end; at++) {
      cell = (cell % keep) * base + (numberOf[bytes[at] as number] as number);
      if (at - start < size - 1) continue;
      const previous = last[cell] as number;
      if (previous === group + 1) continue;
      last[cell] = group + 1;
      let step = group + 1 - previous;
      let cursor = cursors[cell] as number;
      for (; step >= 0x80; step >>>= 7) lists[cursor++] = (step & 0x7f) | 0x80;
      lists[cursor++] = step;
      cursors[cell] = cursor;
    }
  }
}
