import type { ArrayStore } from '../arrays.ts';
import { setBit, wordCount } from '../bits.ts';
import { writeKeptSets } from '../kept-sets.ts';
import { readTrigramList } from '../trigram-list.ts';
import type { BuiltColumn } from './build-column.ts';
import type { BuiltTrigrams } from './build-trigrams.ts';
import { createFrequentSets, type FrequentSets, type SharedSet } from './frequent-sets.ts';

// A text inside at least this share of all rows gets the set of those rows.
const frequentShare = 0.02;
// The sets of a column take at most this many bytes for each record; the most frequent texts go first. With
// few distinct texts, their lists are nearly as good.
const budgetBytesPerRecord = 23;
const smallBudgetBytesPerRecord = 12;
const fewGroups = 20_000;
// Reading the lists of a set takes about a nanosecond for each row.
const listedShare = 1 / 8;
// Longer texts are found by their runs of three bytes.
const maxTextBytes = 24;
const trigramBytes = 3;
// A code system's name inside every value has hundreds of parts that begin alike.
const maxTextsPerStart = 200;

/** A text and where it stands: for each occurrence its group, ascending, and the byte behind it. */
interface FrequentText {
  readonly text: readonly number[];
  readonly rowCount: number;
  readonly groupOf: Uint32Array;
  readonly ends: Uint32Array;
}

/**
 * Finds the texts of 1 to 24 bytes that many rows hold inside a column and keeps the sets of those rows.
 * Longer texts are found by growing frequent runs of three bytes to the right.
 */
export function buildFrequentTexts(
  column: BuiltColumn,
  trigrams: BuiltTrigrams,
  frequentRows: number,
  store: ArrayStore,
): void {
  const rowCount = column.codes.length;
  const budget = column.groupCount < fewGroups ? smallBudgetBytesPerRecord : budgetBytesPerRecord;
  const limit = Math.floor((budget * rowCount) / (wordCount(rowCount) * 4 || 1));
  const minRows = Math.max(1, frequentRows, Math.ceil(rowCount * frequentShare));
  const sets = createFrequentSets({ groupCount: column.groupCount, minRows, limit });
  const rowsOfList = countRows(column, trigrams);
  addShortTexts(column, trigrams, rowsOfList, sets);
  addLongTexts(column, trigrams, rowsOfList, sets);
  writeColumn(column, sets.kept(), store);
}

// Runs of one and two bytes are unions of the lists that begin with them.
function addShortTexts(
  column: BuiltColumn,
  trigrams: BuiltTrigrams,
  rowsOfList: Float64Array,
  sets: FrequentSets,
): void {
  const marks = new Uint32Array(column.groupCount);
  let mark = 0;
  for (const shift of [16, 8]) {
    for (let index = 0, end = 0; index < trigrams.keys.length; index = end) {
      const prefix = (trigrams.keys[index] as number) >>> shift;
      let rows = 0;
      while (end < trigrams.keys.length && (trigrams.keys[end] as number) >>> shift === prefix)
        rows += rowsOfList[end++] as number;
      const text = shift === 16 ? [prefix] : [prefix >>> 8, prefix & 0xff];
      // A zero byte marks the end of a text.
      if (text.includes(0) || rows < sets.neededRows(text.length)) continue;
      const groups = unionOf(trigrams, index, end, marks, ++mark);
      sets.add(text, groups, rowsOfGroups(column, groups));
    }
  }
}

// Then the texts that begin with frequent runs of three bytes, the most frequent ones first.
function addLongTexts(
  column: BuiltColumn,
  trigrams: BuiltTrigrams,
  rowsOfList: Float64Array,
  sets: FrequentSets,
): void {
  const candidates = [...rowsOfList.keys()].filter(
    (index) => (rowsOfList[index] as number) >= sets.neededRows(trigramBytes + 1),
  );
  candidates.sort((a, b) => (rowsOfList[b] as number) - (rowsOfList[a] as number));
  for (const index of candidates) {
    const key = trigrams.keys[index] as number;
    const text = [key >>> 16, (key >>> 8) & 0xff, key & 0xff];
    const rowCount = rowsOfList[index] as number;
    if (text.includes(0) || rowCount < sets.neededRows(trigramBytes + 1)) continue;
    const groups = readTrigramList(trigrams.listAt(index));
    sets.add(text, groups, rowCount);
    grow(column, { text, rowCount, ...findOccurrences(column, groups, key) }, sets);
  }
}

function countRows(column: BuiltColumn, trigrams: BuiltTrigrams): Float64Array {
  const rows = new Float64Array(trigrams.keys.length);
  for (let index = 0; index < rows.length; index++)
    rows[index] = rowsOfGroups(column, readTrigramList(trigrams.listAt(index)));
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
  trigrams: BuiltTrigrams,
  first: number,
  end: number,
  marks: Uint32Array,
  mark: number,
): Uint32Array {
  let size = 0;
  for (let index = first; index < end; index++) size += trigrams.listAt(index).count;
  const union = new Uint32Array(Math.min(size, marks.length));
  let found = 0;
  for (let index = first; index < end; index++) {
    const groups = readTrigramList(trigrams.listAt(index));
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
    for (const { groups, ...longer } of lengthen(column, text, sets.neededRows(length))) {
      if (longer.rowCount < sets.neededRows(length)) continue;
      sets.add(longer.text, groups, longer.rowCount);
      waiting.push(longer);
      added++;
    }
  }
}

// Positions of a trigram in some groups.
function findOccurrences(
  { folded: { bytes, offsets } }: BuiltColumn,
  groups: Uint32Array,
  key: number,
): Pick<FrequentText, 'groupOf' | 'ends'> {
  let groupOf = new Uint32Array(groups.length * 2);
  let ends = new Uint32Array(groups.length * 2);
  let count = 0;
  for (let index = 0; index < groups.length; index++) {
    const group = groups[index] as number;
    const end = offsets[group + 1] as number;
    let run = 0;
    for (let at = offsets[group] as number; at < end; at++) {
      run = ((run << 8) | (bytes[at] as number)) & 0xffffff;
      if (run !== key) continue;
      if (count === ends.length) [groupOf, ends] = [withRoom(groupOf), withRoom(ends)];
      groupOf[count] = group;
      ends[count++] = at + 1;
    }
  }
  return { groupOf: groupOf.subarray(0, count), ends: ends.subarray(0, count) };
}

function withRoom(values: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(values.length * 2);
  larger.set(values);
  return larger;
}

// The texts one byte longer that enough rows hold, each with its groups.
function lengthen(
  { folded: { bytes, offsets }, starts }: BuiltColumn,
  { text, groupOf, ends }: FrequentText,
  neededRows: number,
): (FrequentText & { readonly groups: Uint32Array })[] {
  const rowsOf = new Float64Array(256);
  const groupsOf = new Uint32Array(256);
  const occurrencesOf = new Uint32Array(256);
  const seenIn = new Uint32Array(256);
  // The byte behind each occurrence, zero at the end of its text.
  const nexts = new Uint8Array(ends.length);
  for (let index = 0; index < ends.length; index++) {
    const group = groupOf[index] as number;
    const at = ends[index] as number;
    const next = at < (offsets[group + 1] as number) ? (bytes[at] as number) : 0;
    nexts[index] = next;
    occurrencesOf[next] = (occurrencesOf[next] as number) + 1;
    if (seenIn[next] === group + 1) continue;
    seenIn[next] = group + 1;
    groupsOf[next] = (groupsOf[next] as number) + 1;
    rowsOf[next] = (rowsOf[next] as number) + (starts[group + 1] as number) - (starts[group] as number);
  }
  rowsOf[0] = 0;
  const longer = [...rowsOf.keys()].map((byte) =>
    (rowsOf[byte] as number) < neededRows || rowsOf[byte] === 0
      ? undefined
      : {
          text: [...text, byte],
          rowCount: rowsOf[byte] as number,
          groups: new Uint32Array(groupsOf[byte] as number),
          groupOf: new Uint32Array(occurrencesOf[byte] as number),
          ends: new Uint32Array(occurrencesOf[byte] as number),
        },
  );
  groupsOf.fill(0);
  occurrencesOf.fill(0);
  for (let index = 0; index < ends.length; index++) {
    const next = nexts[index] as number;
    const target = longer[next];
    if (target === undefined) continue;
    const group = groupOf[index] as number;
    const place = occurrencesOf[next] as number;
    const known = groupsOf[next] as number;
    target.groupOf[place] = group;
    target.ends[place] = (ends[index] as number) + 1;
    occurrencesOf[next] = place + 1;
    if (known > 0 && target.groups[known - 1] === group) continue;
    target.groups[known] = group;
    groupsOf[next] = known + 1;
  }
  return longer.filter((text) => text !== undefined);
}

// For each text a length byte, the bytes, and the number of its set, in one array; then the sets, the largest
// first.
function writeColumn(column: BuiltColumn, sets: readonly SharedSet[], store: ArrayStore): void {
  const own = sets.toSorted((a, b) => b.rowCount - a.rowCount);
  const texts = own.flatMap((set, number) => set.texts.map((text) => ({ text, number })));
  const bytes = Buffer.concat(texts.flatMap(({ text }) => [Buffer.of(text.length), text]));
  store.allocate(`${column.name}.frequent.texts`, 'u8', bytes.length).set(bytes);
  store.allocate(`${column.name}.frequent.sets`, 'u32', texts.length).set(texts.map(({ number }) => number));
  writeKeptSets(
    `${column.name}.frequent`,
    column.codes.length,
    own.length,
    listedShare,
    (number, bits) => fillBits(column, (own[number] as SharedSet).groups, bits),
    store,
  );
}

function fillBits({ starts, postings }: BuiltColumn, groups: Uint32Array, bits: Uint32Array): void {
  for (let word = 0; word < groups.length; word++)
    for (let left = groups[word] as number; left !== 0; left &= left - 1) {
      const group = (word << 5) + (31 - Math.clz32(left & -left));
      const end = starts[group + 1] as number;
      for (let index = starts[group] as number; index < end; index++)
        setBit(bits, (postings as Uint32Array)[index] as number);
    }
}
