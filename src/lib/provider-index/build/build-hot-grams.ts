import type { ArrayStore } from '../arrays.ts';
import { setBit, wordCount } from '../bits.ts';
import { readGramList } from '../gram-list.ts';
import type { BuiltColumn } from './build-column.ts';
import type { GramRows } from './build-grams.ts';

// A gram that matches more than this share of all rows gets the bit set of those rows.
const hotShare = 0.06;
// And never more of them than this, in bytes for each record.
const budgetBytesPerRecord = 40;

/** For the most frequent grams: the set of matching rows itself, so that one or two letters need no lists. */
export function buildHotGrams(grams: readonly GramRows[], columns: ReadonlyMap<string, BuiltColumn>, frequentRows: number, store: ArrayStore): void {
  const rowCount = columns.values().next().value?.codes.length ?? 0;
  const limit = Math.floor((budgetBytesPerRecord * rowCount) / (wordCount(rowCount) * 4 || 1));
  const hot = grams
    .filter((gram) => gram.rowCount >= Math.max(frequentRows, rowCount * hotShare))
    .sort((a, b) => b.rowCount - a.rowCount)
    .slice(0, limit);
  for (const [name, column] of columns) writeColumn(name, column, hot.filter((gram) => gram.column === name), store);
}

function writeColumn(name: string, column: BuiltColumn, grams: readonly GramRows[], store: ArrayStore): void {
  const words = wordCount(column.codes.length);
  // Keys of different sizes are told apart by the size in the top byte.
  const keys = store.allocate(`${name}.hot.keys`, 'u32', grams.length);
  const counts = store.allocate(`${name}.hot.counts`, 'u32', grams.length);
  for (const [index, gram] of grams.entries()) {
    keys[index] = gram.size * 0x1000000 + gram.key;
    counts[index] = gram.rowCount;
    const bits = store.allocate(`${name}.hot.${keys[index]}`, 'u32', words);
    fillBits(column, gram, bits);
  }
}

function fillBits({ starts, postings }: BuiltColumn, { list }: GramRows, bits: Uint32Array): void {
  for (const group of readGramList(list)) {
    const end = starts[group + 1] as number;
    for (let index = starts[group] as number; index < end; index++) setBit(bits, (postings as Uint32Array)[index] as number);
  }
}
