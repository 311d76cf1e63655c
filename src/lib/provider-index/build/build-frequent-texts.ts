import type { ArrayStore } from '../arrays.ts';
import { setBit, wordCount } from '../bits.ts';
import { readGramList } from '../gram-list.ts';
import type { BuiltColumn } from './build-column.ts';
import type { BuiltGrams } from './build-grams.ts';
import { createFrequentSets, type FrequentSets, type SharedSet } from './frequent-sets.ts';

// A text inside at least this share of all rows gets the set of those rows.
const frequentShare = 0.02;
// The sets of a column take at most this many bytes for each record; the most frequent texts go first. With few distinct
// texts, their lists are nearly as good.
const budgetBytesPerRecord = 26;
const smallBudgetBytesPerRecord = 12;
const fewGroups = 50_000;
// Longer texts are found by their runs of three bytes.
const maxTextBytes = 24;
const gramBytes = 3;
// Groups looked at to guess how a text goes on, and how far below the threshold the guess may lie.
const sampleSize = 4000;
const sampleTolerance = 0.75;
// A code system's name inside every value has hundreds of parts that begin alike.
const maxTextsPerStart = 200;

/** A short text and the groups that hold it. */
interface FrequentText {
  readonly text: readonly number[];
  readonly groups: Uint32Array;
  readonly rowCount: number;
}

/**
 * Finds the texts of 1 to 24 bytes that many rows hold inside a column and keeps the sets of those rows. Longer texts are
 * found by growing frequent runs of three bytes to the right.
 */
export function buildFrequentTexts(
  column: BuiltColumn,
  grams: BuiltGrams,
  frequentRows: number,
  store: ArrayStore,
): void {
  const rowCount = column.codes.length;
  const budget = column.groupCount < fewGroups ? smallBudgetBytesPerRecord : budgetBytesPerRecord;
  const limit = Math.floor((budget * rowCount) / (wordCount(rowCount) * 4 || 1));
  const minRows = Math.max(1, frequentRows, Math.ceil(rowCount * frequentShare));
  const sets = createFrequentSets({ minRows, limit });
  const rowsOfList = countRows(column, grams);
  addShortTexts(column, grams, rowsOfList, sets);
  addLongTexts(column, grams, rowsOfList, sets);
  writeColumn(column, sets.kept(), store);
}

// Runs of one and two bytes are unions of the lists that begin with them.
function addShortTexts(
  column: BuiltColumn,
  grams: BuiltGrams,
  rowsOfList: Float64Array,
  sets: FrequentSets,
): void {
  const marks = new Uint32Array(column.groupCount);
  let mark = 0;
  for (const shift of [16, 8]) {
    for (let index = 0, end = 0; index < grams.keys.length; index = end) {
      const prefix = (grams.keys[index] as number) >>> shift;
      let rows = 0;
      while (end < grams.keys.length && (grams.keys[end] as number) >>> shift === prefix)
        rows += rowsOfList[end++] as number;
      const text = shift === 16 ? [prefix] : [prefix >>> 8, prefix & 0xff];
      // A zero byte stands for the end of a text.
      if (text.includes(0) || rows < sets.neededRows(text.length)) continue;
      const groups = unionOf(grams, index, end, marks, ++mark);
      sets.add(text, groups, rowsOfGroups(column, groups));
    }
  }
}

// Then the texts that begin with frequent runs of three bytes, the most frequent ones first.
function addLongTexts(
  column: BuiltColumn,
  grams: BuiltGrams,
  rowsOfList: Float64Array,
  sets: FrequentSets,
): void {
  const candidates = [...rowsOfList.keys()].filter(
    (index) => (rowsOfList[index] as number) >= sets.neededRows(gramBytes + 1),
  );
  candidates.sort((a, b) => (rowsOfList[b] as number) - (rowsOfList[a] as number));
  for (const index of candidates) {
    const key = grams.keys[index] as number;
    const text = [key >>> 16, (key >>> 8) & 0xff, key & 0xff];
    const rowCount = rowsOfList[index] as number;
    if (text.includes(0) || rowCount < sets.neededRows(gramBytes + 1)) continue;
    const groups = readGramList(grams.listAt(index));
    sets.add(text, groups, rowCount);
    grow(column, { text, groups, rowCount }, sets);
  }
}

function countRows(column: BuiltColumn, grams: BuiltGrams): Float64Array {
  const rows = new Float64Array(grams.keys.length);
  for (let index = 0; index < rows.length; index++)
    rows[index] = rowsOfGroups(column, readGramList(grams.listAt(index)));
  return rows;
}

function rowsOfGroups({ starts }: BuiltColumn, groups: Uint32Array): number {
  let rows = 0;
  for (let at = 0; at < groups.length; at++) {
    const group = groups[at] as number;
    rows += (starts[group + 1] as number) - (starts[group] as number);
  }
  return rows;
}

// Members of any of the lists, in no particular order. `mark` must differ from call to call.
function unionOf(
  grams: BuiltGrams,
  first: number,
  end: number,
  marks: Uint32Array,
  mark: number,
): Uint32Array {
  let size = 0;
  for (let index = first; index < end; index++) size += grams.listAt(index).count;
  const union = new Uint32Array(Math.min(size, marks.length));
  let found = 0;
  for (let index = first; index < end; index++) {
    const groups = readGramList(grams.listAt(index));
    for (let at = 0; at < groups.length; at++) {
      const group = groups[at] as number;
      if (marks[group] === mark) continue;
      marks[group] = mark;
      union[found++] = group;
    }
  }
  return union.slice(0, found);
}

// Adds the frequent texts that begin with this one.
function grow(column: BuiltColumn, from: FrequentText, sets: FrequentSets): void {
  const waiting = [from];
  let added = 0;
  for (let text = waiting.pop(); text !== undefined && added < maxTextsPerStart; text = waiting.pop()) {
    const length = text.text.length + 1;
    if (length > maxTextBytes || text.rowCount < sets.neededRows(length)) continue;
    for (const byte of likelyNextBytes(column, text, sets.neededRows(length))) {
      const groups = groupsWithNext(column, text, byte);
      const longer = { text: [...text.text, byte], groups, rowCount: rowsOfGroups(column, groups) };
      if (longer.rowCount < sets.neededRows(length)) continue;
      sets.add(longer.text, groups, longer.rowCount);
      waiting.push(longer);
      added++;
    }
  }
}

// A sample tells which bytes may follow often enough; what it misses is only found more slowly later.
function likelyNextBytes(column: BuiltColumn, { text, groups }: FrequentText, neededRows: number): number[] {
  const step = Math.max(1, Math.floor(groups.length / sampleSize));
  const rowsOf = new Float64Array(256);
  const seenIn = new Uint32Array(256);
  const { bytes, offsets } = column.folded;
  for (let index = 0; index < groups.length; index += step) {
    const group = groups[index] as number;
    const rows = (column.starts[group + 1] as number) - (column.starts[group] as number);
    const end = offsets[group + 1] as number;
    for (let at = offsets[group] as number; at + text.length < end; at++) {
      if (!startsAt(bytes, at, text)) continue;
      const next = bytes[at + text.length] as number;
      if (next === 0 || seenIn[next] === index + 1) continue;
      seenIn[next] = index + 1;
      rowsOf[next] = (rowsOf[next] as number) + rows;
    }
  }
  return [...rowsOf.keys()].filter((byte) => (rowsOf[byte] as number) * step >= neededRows * sampleTolerance);
}

function groupsWithNext(column: BuiltColumn, { text, groups }: FrequentText, byte: number): Uint32Array {
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
  return count === groups.length ? groups : kept.slice(0, count);
}

function startsAt(bytes: Uint8Array, at: number, text: readonly number[]): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false;
  return true;
}

// For each text a length byte, the bytes, and the number of its set, in one array; the sets behind one another.
function writeColumn(column: BuiltColumn, own: readonly SharedSet[], store: ArrayStore): void {
  const words = wordCount(column.codes.length);
  const texts = own.flatMap((set, number) => set.texts.map((text) => ({ text, number })));
  const bytes = Buffer.concat(texts.flatMap(({ text }) => [Buffer.of(text.length), text]));
  store.allocate(`${column.name}.frequent.texts`, 'u8', bytes.length).set(bytes);
  store.allocate(`${column.name}.frequent.sets`, 'u32', texts.length).set(texts.map(({ number }) => number));
  store.allocate(`${column.name}.frequent.counts`, 'u32', own.length).set(own.map((set) => set.rowCount));
  const bits = store.allocate(`${column.name}.frequent.bits`, 'u32', own.length * words);
  for (const [number, set] of own.entries())
    fillBits(column, set.groups, bits.subarray(number * words, (number + 1) * words));
}

function fillBits({ starts, postings }: BuiltColumn, groups: Uint32Array, bits: Uint32Array): void {
  for (let at = 0; at < groups.length; at++) {
    const end = starts[(groups[at] as number) + 1] as number;
    for (let index = starts[groups[at] as number] as number; index < end; index++)
      setBit(bits, (postings as Uint32Array)[index] as number);
  }
}
