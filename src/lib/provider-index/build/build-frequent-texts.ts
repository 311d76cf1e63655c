import type { ArrayStore } from '../arrays.ts';
import { setBit, wordCount } from '../bits.ts';
import { readGramList } from '../gram-list.ts';
import type { BuiltColumn } from './build-column.ts';
import type { BuiltGrams } from './build-grams.ts';

// A text inside at least this share of all rows gets the set of those rows.
const frequentShare = 0.02;
// The sets together take at most this many bytes for each record; the most frequent texts go first.
const budgetBytesPerRecord = 32;
// Longer texts are found by their runs of three bytes.
const maxTextBytes = 24;
// A code system's name inside every value has thousands of parts; more are of no use.
const maxTextsPerColumn = 6000;

/** A short text and the groups that hold it. */
interface FrequentText {
  readonly column: BuiltColumn;
  readonly text: readonly number[];
  readonly groups: Uint32Array;
  readonly rowCount: number;
}

/**
 * Finds the texts of 1 to 24 bytes that many rows hold inside a column and keeps the sets of those rows. Texts with the
 * same rows (`suit`, `suite`) share a set. They are found by growing frequent runs of three bytes to the right.
 */
export function buildFrequentTexts(columns: readonly (readonly [BuiltColumn, BuiltGrams])[], frequentRows: number, store: ArrayStore): void {
  const rowCount = columns[0]?.[0].codes.length ?? 0;
  const threshold = Math.max(1, frequentRows, Math.ceil(rowCount * frequentShare));
  const found = columns.flatMap(([column, grams]) => findTexts(column, grams, threshold));
  const sets = shareSets(found, Math.floor((budgetBytesPerRecord * rowCount) / (wordCount(rowCount) * 4 || 1)));
  for (const [column] of columns) writeColumn(column, sets, store);
}

function findTexts(column: BuiltColumn, grams: BuiltGrams, threshold: number): FrequentText[] {
  const found: FrequentText[] = [];
  const mark = new Uint8Array(column.groupCount);
  // Runs of one and two bytes are unions of the lists that begin with them.
  for (const shift of [16, 8]) {
    for (let index = 0; index < grams.keys.length; ) {
      const prefix = (grams.keys[index] as number) >>> shift;
      let end = index;
      let listed = 0;
      for (; end < grams.keys.length && (grams.keys[end] as number) >>> shift === prefix; end++) listed += grams.listAt(end).count;
      if ((prefix & 0xff) !== 0 && mayReach(column, listed, threshold)) {
        const groups = unionOf(grams, index, end, mark);
        keepIfFrequent(found, column, shift === 16 ? [prefix] : [prefix >>> 8, prefix & 0xff], groups, threshold);
      }
      index = end;
    }
  }
  for (let index = 0; index < grams.keys.length; index++) {
    const key = grams.keys[index] as number;
    const list = grams.listAt(index);
    if ((key & 0xff) === 0 || !mayReach(column, list.count, threshold)) continue;
    const text = [key >>> 16, (key >>> 8) & 0xff, key & 0xff];
    const frequent = keepIfFrequent(found, column, text, readGramList(list), threshold);
    if (frequent !== undefined) grow(frequent, found, threshold);
  }
  return found;
}

// In a column whose groups are small, a short list cannot reach the threshold.
function mayReach(column: BuiltColumn, groupsListed: number, threshold: number): boolean {
  return groupsListed * largestGroup(column) >= threshold;
}

const largestGroups = new WeakMap<BuiltColumn, number>();

function largestGroup(column: BuiltColumn): number {
  const known = largestGroups.get(column);
  if (known !== undefined) return known;
  let largest = 0;
  for (let group = 0; group + 1 < column.groupCount; group++) {
    largest = Math.max(largest, (column.starts[group + 1] as number) - (column.starts[group] as number));
  }
  largestGroups.set(column, largest);
  return largest;
}

function unionOf(grams: BuiltGrams, first: number, end: number, mark: Uint8Array): Uint32Array {
  if (end - first === 1) return readGramList(grams.listAt(first));
  mark.fill(0);
  for (let index = first; index < end; index++) {
    const groups = readGramList(grams.listAt(index));
    for (let at = 0; at < groups.length; at++) mark[groups[at] as number] = 1;
  }
  let count = 0;
  for (let group = 0; group < mark.length; group++) count += mark[group] as number;
  const union = new Uint32Array(count);
  let found = 0;
  for (let group = 0; group < mark.length; group++) if (mark[group] === 1) union[found++] = group;
  return union;
}

function keepIfFrequent(
  found: FrequentText[],
  column: BuiltColumn,
  text: readonly number[],
  groups: Uint32Array,
  threshold: number,
): FrequentText | undefined {
  const { starts } = column;
  let rowCount = 0;
  for (let at = 0; at < groups.length; at++) rowCount += (starts[(groups[at] as number) + 1] as number) - (starts[groups[at] as number] as number);
  if (rowCount < threshold) return undefined;
  const frequent = { column, text, groups, rowCount };
  found.push(frequent);
  return frequent;
}

// Adds the frequent texts that begin with this one.
function grow(from: FrequentText, found: FrequentText[], threshold: number): void {
  const waiting = [from];
  for (let text = waiting.pop(); text !== undefined && found.length < maxTextsPerColumn; text = waiting.pop()) {
    if (text.text.length === maxTextBytes) continue;
    const rowsOf = countNextBytes(text);
    for (let byte = 1; byte < 256; byte++) {
      if ((rowsOf[byte] as number) < threshold) continue;
      // The same number of rows means the same rows.
      const isSame = rowsOf[byte] === text.rowCount;
      const groups = isSame ? text.groups : groupsWithNext(text, byte);
      const longer = { column: text.column, text: [...text.text, byte], groups, rowCount: rowsOf[byte] as number };
      found.push(longer);
      waiting.push(longer);
    }
  }
}

function countNextBytes({ column, text, groups }: FrequentText): Float64Array {
  const rowsOf = new Float64Array(256);
  const seenIn = new Uint32Array(256);
  const { bytes, offsets } = column.folded;
  for (let index = 0; index < groups.length; index++) {
    const group = groups[index] as number;
    const rows = (column.starts[group + 1] as number) - (column.starts[group] as number);
    const end = offsets[group + 1] as number;
    for (let at = offsets[group] as number; at + text.length < end; at++) {
      if (!startsAt(bytes, at, text)) continue;
      const next = bytes[at + text.length] as number;
      if (seenIn[next] === index + 1) continue;
      seenIn[next] = index + 1;
      rowsOf[next] = (rowsOf[next] as number) + rows;
    }
  }
  return rowsOf;
}

function groupsWithNext({ column, text, groups }: FrequentText, byte: number): Uint32Array {
  const { bytes, offsets } = column.folded;
  const kept = new Uint32Array(groups.length);
  let count = 0;
  for (let index = 0; index < groups.length; index++) {
    const group = groups[index] as number;
    const end = offsets[group + 1] as number;
    for (let at = offsets[group] as number; at + text.length < end; at++) {
      if (bytes[at + text.length] !== byte || !startsAt(bytes, at, text)) continue;
      kept[count++] = group;
      break;
    }
  }
  return kept.slice(0, count);
}

function startsAt(bytes: Uint8Array, at: number, text: readonly number[]): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false;
  return true;
}

interface SharedSet {
  readonly column: BuiltColumn;
  readonly groups: Uint32Array;
  readonly rowCount: number;
  readonly texts: Buffer[];
}

// One set for all texts of a column with the same groups, the largest ones up to the limit.
function shareSets(found: readonly FrequentText[], limit: number): SharedSet[] {
  const sets = new Map<string, SharedSet>();
  for (const { column, text, groups, rowCount } of found) {
    const key = `${column.name} ${rowCount} ${groups.length} ${hashOf(groups)}`;
    const known = sets.get(key);
    if (known === undefined) sets.set(key, { column, groups, rowCount, texts: [Buffer.from(text)] });
    else known.texts.push(Buffer.from(text));
  }
  return [...sets.values()].sort((a, b) => b.rowCount - a.rowCount).slice(0, limit);
}

function hashOf(groups: Uint32Array): string {
  let a = 0;
  let b = 0x9e3779b9;
  for (let index = 0; index < groups.length; index++) {
    a = Math.imul(a ^ (groups[index] as number), 0x01000193);
    b = Math.imul(b + (groups[index] as number), 0x85ebca6b) ^ (b >>> 13);
  }
  return `${a >>> 0} ${b >>> 0}`;
}

// For each text a length byte, the bytes, and the number of its set, in one array; the sets behind one another.
function writeColumn(column: BuiltColumn, sets: readonly SharedSet[], store: ArrayStore): void {
  const own = sets.filter((set) => set.column === column);
  const words = wordCount(column.codes.length);
  const texts = own.flatMap((set, number) => set.texts.map((text) => ({ text, number })));
  const bytes = Buffer.concat(texts.flatMap(({ text }) => [Buffer.of(text.length), text]));
  store.allocate(`${column.name}.frequent.texts`, 'u8', bytes.length).set(bytes);
  store.allocate(`${column.name}.frequent.sets`, 'u32', texts.length).set(texts.map(({ number }) => number));
  store.allocate(`${column.name}.frequent.counts`, 'u32', own.length).set(own.map((set) => set.rowCount));
  const bits = store.allocate(`${column.name}.frequent.bits`, 'u32', own.length * words);
  for (const [number, set] of own.entries()) fillBits(set, bits.subarray(number * words, (number + 1) * words));
}

function fillBits({ column, groups }: SharedSet, bits: Uint32Array): void {
  const { starts } = column;
  const postings = column.postings as Uint32Array;
  for (let at = 0; at < groups.length; at++) {
    const end = starts[(groups[at] as number) + 1] as number;
    for (let index = starts[groups[at] as number] as number; index < end; index++) setBit(bits, postings[index] as number);
  }
}
