import { forEachOtherName } from '../../provider-record/index.ts';
import { stateNames } from '../../values/index.ts';
import {
  maxWordLength,
  maxWordsOfText,
  splitWords,
  startOfSpecialty,
  type WordRoom,
} from '../../search-words/index.ts';
import type { ArrayStore } from '../arrays.ts';
import { setBit } from '../bits.ts';
import { writeKeptSets } from '../kept-sets.ts';
import { formatGroupLists } from '../words/group-lists.ts';
import { wordArrays, wordColumns, type WordColumnName } from '../word-columns.ts';
import type { BuiltColumn } from './build-column.ts';
import type { ByteTexts } from './fold-values.ts';
import { sortTexts } from './sort-texts.ts';
import { batchSize, createValueInterner } from './value-interner.ts';

/**
 * The words of a column's distinct texts, each with the groups that have it, and the sets of rows of the most
 * frequent beginnings of words. Other columns have none.
 */
export function buildWords(column: BuiltColumn, frequentRows: number, store: ArrayStore): void {
  if (!(column.name in wordColumns)) return;
  const found = findWords(column, column.name as WordColumnName);
  const words = orderWords(found);
  const arrays = wordArrays(column.name);
  store.allocate(arrays.bytes, 'u8', words.texts.bytes.length).set(words.texts.bytes);
  store.allocate(arrays.offsets, 'u32', words.texts.offsets.length).set(words.texts.offsets);
  writeGroups(words, arrays, store);
  writeFrequent(column, words, frequentRows, store);
}

// The groups of each word as a list of differences.
function writeGroups(
  { starts, groups }: OrderedWords,
  arrays: ReturnType<typeof wordArrays>,
  store: ArrayStore,
): void {
  const lists = formatGroupLists(starts, groups);
  store.allocate(arrays.starts, 'u32', lists.starts.length).set(lists.starts);
  store.allocate(arrays.groups, 'u8', lists.bytes.length).set(lists.bytes);
}

/** Which group has which word, in order of groups. */
interface FoundWords {
  readonly texts: ByteTexts;
  readonly wordOfPair: Uint32Array;
  readonly groupOfPair: Uint32Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const roomBytes = 1 << 20;
// A UTF-16 unit becomes at most three bytes.
const mostWordBytes = maxWordsOfText * maxWordLength * 3;

function findWords({ folded, groupCount }: BuiltColumn, name: WordColumnName): FoundWords {
  const { style } = wordColumns[name];
  const interner = createValueInterner();
  const pairs = createPairs(groupCount);
  const bytes = new Uint8Array(roomBytes);
  const spans = new Uint32Array(batchSize * 2);
  const groups = new Uint32Array(batchSize);
  const numbers = new Uint32Array(batchSize);
  let used = 0;
  let count = 0;
  function flush(): void {
    interner.intern(bytes, spans, count, numbers);
    pairs.push(numbers.subarray(0, count), groups.subarray(0, count));
    used = 0;
    count = 0;
  }
  // The blank group is the last one.
  for (let group = 0; group + 1 < groupCount; group++) {
    const start = folded.offsets[group] as number;
    const end = folded.offsets[group + 1] as number;
    // The kind of a name is no word of it.
    if (name === 'otherNames')
      forEachOtherName(folded.bytes, start, end, (from, _, to) => putGroup(group, from, to));
    else putGroup(group, name === 'specialty' ? startOfSpecialty(folded.bytes, start, end) : start, end);
  }
  flush();
  return {
    texts: interner.finish(),
    ...pairs.finish(),
  };

  function putGroup(group: number, start: number, end: number): void {
    if (count + maxWordsOfText > batchSize || used + end - start + mostWordBytes > roomBytes) flush();
    const found = name === 'state' ? putState(folded, group) : putWords(start, end);
    groups.fill(group, count, count + found);
    count += found;
  }

  // Puts the words behind those that wait; returns their number.
  function putWords(start: number, end: number): number {
    if (isAscii(folded.bytes, start, end)) {
      const room: WordRoom<Uint8Array> = { codes: bytes.subarray(used), spans: spans.subarray(count * 2) };
      const found = splitWords(folded.bytes, start, end, style, room);
      return makeAbsolute(found);
    }
    return putText(decoder.decode(folded.bytes.subarray(start, end)));
  }

  function putText(text: string): number {
    const units = unitsOf(text);
    const room = { codes: new Uint16Array(units.length), spans: new Uint32Array(maxWordsOfText * 2) };
    const found = splitWords(units, 0, units.length, style, room);
    let at = used;
    for (let word = 0; word < found; word++) {
      const [from, to] = [room.spans[word * 2] as number, room.spans[word * 2 + 1] as number];
      spans[(count + word) * 2] = at;
      at += encoder.encodeInto(
        String.fromCharCode(...room.codes.subarray(from, to)),
        bytes.subarray(at),
      ).written;
      spans[(count + word) * 2 + 1] = at;
    }
    used = at;
    return found;
  }

  // Spans that were relative to what was used become absolute.
  function makeAbsolute(found: number): number {
    let end = used;
    for (let at = count * 2; at < (count + found) * 2; at++) {
      spans[at] = (spans[at] as number) + used;
      end = Math.max(end, spans[at] as number);
    }
    used = end;
    return found;
  }

  function putState({ offsets, bytes: texts }: ByteTexts, group: number): number {
    const start = offsets[group] as number;
    const end = offsets[group + 1] as number;
    const code = decoder.decode(texts.subarray(start, end));
    return putText(`${code} ${stateNames.get(code.toUpperCase())?.toLowerCase() ?? ''}`);
  }
}

function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  for (let at = 0; at < units.length; at++) units[at] = text.charCodeAt(at);
  return units;
}

function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at] as number) > 0x7f) return false;
  return true;
}

function createPairs(groupCount: number) {
  let words = new Uint32Array(groupCount * 3 + batchSize);
  let groups = new Uint32Array(groupCount * 3 + batchSize);
  let count = 0;
  return {
    push(more: Uint32Array, ofGroups: Uint32Array): void {
      if (count + more.length > words.length) [words, groups] = [withRoom(words), withRoom(groups)];
      for (let at = 0; at < more.length; at++) {
        const [word, group] = [more[at] as number, ofGroups[at] as number];
        if (hasPair(word, group)) continue;
        words[count] = word;
        groups[count++] = group;
      }
    },
    finish: () => ({ wordOfPair: words.subarray(0, count), groupOfPair: groups.subarray(0, count) }),
  };

  function hasPair(word: number, group: number): boolean {
    for (let at = count - 1; at >= 0 && groups[at] === group; at--) if (words[at] === word) return true;
    return false;
  }
}

function withRoom(values: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.ceil(values.length * 1.5) + batchSize);
  larger.set(values);
  return larger;
}

/** The words in code-point order, and the groups of each. */
interface OrderedWords {
  readonly texts: ByteTexts;
  readonly starts: Uint32Array;
  readonly groups: Uint32Array;
}

function orderWords({ texts, wordOfPair, groupOfPair }: FoundWords): OrderedWords {
  const order = new Uint32Array(texts.count);
  for (let word = 0; word < order.length; word++) order[word] = word;
  sortTexts(order, texts);
  const ranks = new Uint32Array(texts.count);
  const bytes = new Uint8Array(texts.offsets[texts.count] as number);
  const offsets = new Uint32Array(texts.count + 1);
  let position = 0;
  for (let rank = 0; rank < order.length; rank++) {
    const word = order[rank] as number;
    ranks[word] = rank;
    for (let at = texts.offsets[word] as number; at < (texts.offsets[word + 1] as number); at++)
      bytes[position++] = texts.bytes[at] as number;
    offsets[rank + 1] = position;
  }
  const starts = new Uint32Array(texts.count + 1);
  for (let pair = 0; pair < wordOfPair.length; pair++) {
    const next = (ranks[wordOfPair[pair] as number] as number) + 1;
    starts[next] = (starts[next] as number) + 1;
  }
  for (let rank = 0; rank < texts.count; rank++)
    starts[rank + 1] = (starts[rank + 1] as number) + (starts[rank] as number);
  const cursors = starts.slice();
  const groups = new Uint32Array(groupOfPair.length);
  for (let pair = 0; pair < wordOfPair.length; pair++) {
    const rank = ranks[wordOfPair[pair] as number] as number;
    const at = cursors[rank] as number;
    groups[at] = groupOfPair[pair] as number;
    cursors[rank] = at + 1;
  }
  return { texts: { bytes, offsets, count: texts.count }, starts, groups };
}

// Beginnings of words, and whole words, that at least this share of all rows have get the set of those
// rows: fewer rows are put together in a millisecond.
const frequentShare = 0.03;
// Of the rows from which on texts inside a column get a set.
const timesFrequentRows = 4;
// Several sets are read for each word of a query.
const listedShare = 1 / 20;

interface Frequent {
  readonly key: Uint8Array;
  readonly set: number;
}

function writeFrequent(
  column: BuiltColumn,
  words: OrderedWords,
  frequentRows: number,
  store: ArrayStore,
): void {
  const rowCount = column.codes.length;
  const minRows = Math.max(1, frequentRows * timesFrequentRows, Math.ceil(rowCount * frequentShare));
  const frequent: Frequent[] = [];
  const sets: { readonly low: number; readonly high: number }[] = [];
  const { texts, starts, groups } = words;
  const marks = new Uint32Array(column.groupCount);
  let mark = 0;
  const mostRows = rowsBefore(column, words);

  function rowsOf(low: number, high: number): number {
    mark++;
    let rows = 0;
    for (let at = starts[low] as number; at < (starts[high] as number); at++) {
      const group = groups[at] as number;
      if (marks[group] === mark) continue;
      marks[group] = mark;
      rows += (column.starts[group + 1] as number) - (column.starts[group] as number);
    }
    return rows;
  }

  function fill(set: number, bits: Uint32Array): void {
    const { low, high } = sets[set] as (typeof sets)[number];
    for (let at = starts[low] as number; at < (starts[high] as number); at++) {
      const group = groups[at] as number;
      for (let index = column.starts[group] as number; index < (column.starts[group + 1] as number); index++)
        setBit(bits, column.postings === undefined ? index : (column.postings[index] as number));
    }
  }

  // All words [low, high) have their first `depth` bytes in common.
  function visit(
    low: number,
    high: number,
    depth: number,
    known: Frequent & { readonly rows: number },
  ): void {
    let from = low;
    const first = texts.offsets[low] as number;
    if (depth > 0 && (texts.offsets[low + 1] as number) - first === depth) {
      // The word itself comes first; it is kept as a whole word.
      from++;
      addIfFrequent(low, low + 1, Uint8Array.of(...texts.bytes.subarray(first, first + depth), 0), known);
    }
    while (from < high) {
      const byte = texts.bytes[(texts.offsets[from] as number) + depth] as number;
      let [near, far] = [from, high];
      while (near < far) {
        const middle = (near + far) >>> 1;
        if ((texts.bytes[(texts.offsets[middle] as number) + depth] as number) <= byte) near = middle + 1;
        else far = middle;
      }
      const start = texts.offsets[from] as number;
      const added = addIfFrequent(from, near, texts.bytes.slice(start, start + depth + 1), known);
      if (added !== undefined) visit(from, near, depth + 1, added);
      from = near;
    }
  }

  function addIfFrequent(
    low: number,
    high: number,
    key: Uint8Array,
    known: Frequent & { readonly rows: number },
  ): (Frequent & { readonly rows: number }) | undefined {
    if ((mostRows[high] as number) - (mostRows[low] as number) < minRows) return undefined;
    const rows = rowsOf(low, high);
    if (rows < minRows) return undefined;
    // Fewer words with as many rows have the same rows.
    const set = rows === known.rows ? known.set : sets.push({ low, high }) - 1;
    const entry = { key, rows, set };
    frequent.push(entry);
    return entry;
  }

  visit(0, texts.count, 0, { key: new Uint8Array(), set: -1, rows: -1 });
  const arrays = wordArrays(column.name);
  const offsets = store.allocate(arrays.frequentOffsets, 'u32', frequent.length + 1);
  for (const [index, { key }] of frequent.entries())
    offsets[index + 1] = (offsets[index] as number) + key.length;
  const keys = store.allocate(arrays.frequentKeys, 'u8', offsets[frequent.length] as number);
  for (const [index, { key }] of frequent.entries()) keys.set(key, offsets[index] as number);
  store.allocate(arrays.frequentSets, 'u32', frequent.length).set(frequent.map(({ set }) => set));
  writeKeptSets(arrays.frequent, rowCount, sets.length, listedShare, fill, store);
}

// For each word how many rows the words before it have, a row once for each word.
function rowsBefore(column: BuiltColumn, { texts, starts, groups }: OrderedWords): Float64Array {
  const before = new Float64Array(texts.count + 1);
  for (let word = 0; word < texts.count; word++) {
    let rows = 0;
    for (let at = starts[word] as number; at < (starts[word + 1] as number); at++) {
      const group = groups[at] as number;
      rows += (column.starts[group + 1] as number) - (column.starts[group] as number);
    }
    before[word + 1] = (before[word] as number) + rows;
  }
  return before;
}
