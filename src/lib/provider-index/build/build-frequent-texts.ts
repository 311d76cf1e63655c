import type { ArrayStore } from '../arrays.ts';
import { setBit, wordCount } from '../bits.ts';
import { writeKeptSets } from '../kept-sets.ts';
import { isInsideCharacter } from '../trigram-list.ts';
import type { BuiltColumn } from './build-column.ts';
import type { ByteTexts } from './fold-values.ts';
import { createFrequentSets, Tally, type SharedSet } from './frequent-sets.ts';
import { createTextTree, type TextTree } from './text-tree.ts';

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
// A code system's name inside every value has hundreds of parts.
const maxTexts = 8000;
// Texts are chosen by so many groups, and those that have more than this part of the rows that a text needs;
// of what is chosen the rows are counted in all groups.
const sampledGroups = 100_000;
const sampledBytes = 8_000_000;
const heavyPart = 1 / 1000;
// Sets that are chosen for each one that is kept.
const chosenShare = 1.25;

/** Finds the texts of 1 to 24 bytes that many rows hold inside a column and keeps the sets of those rows. */
export function buildFrequentTexts(column: BuiltColumn, frequentRows: number, store: ArrayStore): void {
  const rowCount = column.codes.length;
  const budget = column.groupCount < fewGroups ? smallBudgetBytesPerRecord : budgetBytesPerRecord;
  const limit = Math.floor((budget * rowCount) / (wordCount(rowCount) * 4 || 1));
  const minRows = Math.max(1, frequentRows, Math.ceil(rowCount * frequentShare));
  const chosen = chooseTexts(column, minRows, Math.ceil(limit * chosenShare));
  const tree = createTextTree(chosen);
  const sets = createFrequentSets({ minRows, limit });
  const tally = new Tally(tree.nodeCount);
  forEachFound(column, tree, (node, group, rows) => tally.add(node, group, rows));
  for (const [index, text] of chosen.entries()) sets.add(text, tally, tree.nodes[index] as number);
  writeColumn(column, sets.kept(), store);
}

/** Some of the groups, with the rows that each stands for. */
interface Sample {
  readonly texts: ByteTexts;
  readonly rows: Float64Array;
}

function sampleOf({ folded, starts, groupCount }: BuiltColumn, heavyRows: number): Sample {
  const step = Math.ceil(
    Math.max(groupCount / sampledGroups, (folded.offsets[folded.count] as number) / sampledBytes),
  );
  const groups: number[] = [];
  const rows: number[] = [];
  for (let group = 0; group < groupCount; group++) {
    const own = (starts[group + 1] as number) - (starts[group] as number);
    const isHeavy = own > heavyRows;
    if (!isHeavy && group % step !== 0) continue;
    groups.push(group);
    rows.push(isHeavy ? own : own * step);
  }
  return { texts: pick(folded, groups), rows: Float64Array.from(rows) };
}

function pick({ bytes, offsets }: ByteTexts, numbers: readonly number[]): ByteTexts {
  const picked = new Uint32Array(numbers.length + 1);
  for (const [index, number] of numbers.entries())
    picked[index + 1] =
      (picked[index] as number) + (offsets[number + 1] as number) - (offsets[number] as number);
  const all = new Uint8Array(picked[numbers.length] as number);
  for (const [index, number] of numbers.entries())
    all.set(bytes.subarray(offsets[number], offsets[number + 1]), picked[index]);
  return { bytes: all, offsets: picked, count: numbers.length };
}

/** A text and where it stands: for each occurrence its group, ascending, and the byte behind it. */
interface FoundText {
  readonly text: Uint8Array;
  readonly groupOf: Uint32Array;
  readonly ends: Uint32Array;
}

// The texts of the most valuable sets, as the sample says: one byte, then those one byte longer than these.
function chooseTexts(column: BuiltColumn, minRows: number, limit: number): Uint8Array[] {
  const sample = sampleOf(column, minRows * heavyPart);
  const sets = createFrequentSets({ minRows, limit });
  let count = 0;
  let found: FoundText[] = [emptyText(sample.texts)];
  for (let length = 1; length <= maxTextBytes && count < maxTexts; length++) {
    const longer: FoundText[] = [];
    for (let text = found.shift(); text !== undefined; text = found.shift())
      longer.push(...lengthen(sample, text, sets));
    count += longer.length;
    found = longer;
  }
  return sets.kept().flatMap(({ texts }) => texts);
}

// In front of each character.
function emptyText({ bytes, offsets, count }: ByteTexts): FoundText {
  const groupOf = new Uint32Array(bytes.length);
  const ends = new Uint32Array(bytes.length);
  let found = 0;
  for (let group = 0; group < count; group++) {
    const end = offsets[group + 1] as number;
    for (let at = offsets[group] as number; at < end; at++) {
      if (isInsideCharacter(bytes[at] as number)) continue;
      groupOf[found] = group;
      ends[found++] = at;
    }
  }
  return { text: new Uint8Array(), groupOf: groupOf.subarray(0, found), ends: ends.subarray(0, found) };
}

// The texts one byte longer that enough rows hold.
function lengthen(
  { texts: { bytes, offsets }, rows }: Sample,
  { text, groupOf, ends }: FoundText,
  sets: ReturnType<typeof createFrequentSets>,
): FoundText[] {
  const tally = new Tally(256);
  const occurrencesOf = new Uint32Array(256);
  // The byte behind each occurrence, zero at the end of its text.
  const nexts = new Uint8Array(ends.length);
  for (let index = 0; index < ends.length; index++) {
    const group = groupOf[index] as number;
    const at = ends[index] as number;
    const next = at < (offsets[group + 1] as number) ? (bytes[at] as number) : 0;
    nexts[index] = next;
    occurrencesOf[next] = (occurrencesOf[next] as number) + 1;
    tally.add(next, group, rows[group] as number);
  }
  const needed = sets.neededRows(text.length + 1);
  const longer = Array.from(tally.rows, (count, byte): FoundText | undefined => {
    if (byte === 0 || count < needed) return undefined;
    const found = Uint8Array.of(...text, byte);
    sets.add(found, tally, byte);
    const size = occurrencesOf[byte] as number;
    return { text: found, groupOf: new Uint32Array(size), ends: new Uint32Array(size) };
  });
  occurrencesOf.fill(0);
  for (let index = 0; index < ends.length; index++) {
    const next = nexts[index] as number;
    const target = longer[next];
    if (target === undefined) continue;
    const place = occurrencesOf[next] as number;
    target.groupOf[place] = groupOf[index] as number;
    target.ends[place] = (ends[index] as number) + 1;
    occurrencesOf[next] = place + 1;
  }
  return longer.filter((one) => one !== undefined);
}

// Every beginning of a text of the tree in every group, ascending, with the rows of the group.
function forEachFound(
  { folded: { bytes, offsets }, starts, groupCount }: BuiltColumn,
  { children }: TextTree,
  take: (node: number, group: number, rows: number) => void,
): void {
  for (let group = 0; group < groupCount; group++) {
    const end = offsets[group + 1] as number;
    const rows = (starts[group + 1] as number) - (starts[group] as number);
    for (let start = offsets[group] as number; start < end; start++) {
      if (isInsideCharacter(bytes[start] as number)) continue;
      for (let at = start, node = 0; at < end; at++) {
        node = children[(node << 8) | (bytes[at] as number)] as number;
        if (node === 0) break;
        take(node, group, rows);
      }
    }
  }
}

// A bit for each group: lists of hundreds of sets would take several times as much as the index.
function findGroups(column: BuiltColumn, sets: readonly SharedSet[]): Uint32Array[] {
  const words = wordCount(column.groupCount);
  const tree = createTextTree(sets.map(({ texts }) => texts[0] as Uint8Array));
  const groups = sets.map(() => new Uint32Array(words));
  const groupsOf: (Uint32Array | undefined)[] = Array.from({ length: tree.nodeCount });
  for (const [set, node] of tree.nodes.entries()) groupsOf[node] = groups[set];
  forEachFound(column, tree, (node, group) => {
    const bits = groupsOf[node];
    if (bits !== undefined) setBit(bits, group);
  });
  return groups;
}

// For each text a length byte, the bytes, and the number of its set, in one array; then the sets, the largest
// first.
function writeColumn(column: BuiltColumn, sets: readonly SharedSet[], store: ArrayStore): void {
  const own = sets.toSorted((a, b) => b.rowCount - a.rowCount);
  const groups = findGroups(column, own);
  const texts = own.flatMap((set, number) => set.texts.map((text) => ({ text, number })));
  const bytes = Buffer.concat(texts.flatMap(({ text }) => [Buffer.of(text.length), text]));
  store.allocate(`${column.name}.frequent.texts`, 'u8', bytes.length).set(bytes);
  store.allocate(`${column.name}.frequent.sets`, 'u32', texts.length).set(texts.map(({ number }) => number));
  writeKeptSets(
    `${column.name}.frequent`,
    column.codes.length,
    own.length,
    listedShare,
    (number, bits) => fillBits(column, groups[number] as Uint32Array, bits),
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
