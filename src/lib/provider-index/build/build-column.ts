import type { ArrayStore, CodeArray } from '../arrays.ts';
import { shownColumns, type ColumnName } from '../columns.ts';
import { fillGroups, groupStarts } from './counting-sort.ts';
import { foldValues, type ByteTexts } from './fold-values.ts';
import { escapeJson } from './json-values.ts';
import { sortTexts } from './sort-texts.ts';

/** A finished column, as the following steps of the build need it. */
export interface BuiltColumn {
  readonly name: string;
  /** Groups of equal folded text in code-point order; the last group is the blank one. */
  readonly groupCount: number;
  readonly folded: ByteTexts;
  /** Group of each row. */
  readonly codes: CodeArray;
  /** Start of each group in `postings`. */
  readonly starts: Uint32Array;
  readonly postings: Uint32Array | undefined;
}

export interface ColumnSource {
  readonly name: ColumnName;
  /** Distinct texts as stored. */
  readonly values: ByteTexts;
  /** The result of {@link groupValues} for them, if already computed. */
  readonly grouping?: Grouping;
  /** For each record in order of arrival, the number of its text. */
  readonly valueOfRecord: Uint32Array;
  /** For each row, the record that it shows. */
  readonly recordOfRow: Uint32Array;
  /** Rows in the order in which a group lists them; absent if rows are ordered by this very column. */
  readonly sequence?: Uint32Array;
}

/** Sorts the texts, groups those that fold to the same, and writes codes, postings and stored texts. */
export function buildColumn(source: ColumnSource, store: ArrayStore): BuiltColumn {
  const { name, values, recordOfRow, sequence } = source;
  const grouping = source.grouping ?? groupValues(values);
  const { groupCount, groupOf } = grouping;
  const codes = store.allocateCodes(`${name}.codes`, groupCount, recordOfRow.length);
  for (let row = 0; row < recordOfRow.length; row++) {
    codes[row] = groupOf[source.valueOfRecord[recordOfRow[row] as number] as number] as number;
  }
  writeVariants(source, grouping, store);
  writeExceptions(name, writeValues(name, values, grouping, store), grouping, store);
  const starts = store.allocate(`${name}.starts`, 'u32', groupCount + 1);
  groupStarts(codes, groupCount, starts);
  const postings = sequence && writePostings(name, codes, starts, sequence, store);
  return { name, groupCount, folded: grouping.groupTexts, codes, starts, postings };
}

function writePostings(
  name: ColumnName,
  codes: CodeArray,
  starts: Uint32Array,
  sequence: Uint32Array,
  store: ArrayStore,
): Uint32Array {
  if (!shownColumns.has(name)) {
    const postings = store.allocate(`${name}.postings`, 'u32', sequence.length);
    fillGroups(codes, starts, sequence, postings);
    return postings;
  }
  const all = new Uint32Array(sequence.length);
  fillGroups(codes, starts, sequence, all);
  const count = starts[starts.length - 2] as number;
  const postings = store.allocate(`${name}.postings`, 'u32', count);
  postings.set(all.subarray(0, count));
  return postings;
}

/** Stored texts with the same folded form. */
export interface Grouping {
  readonly groupCount: number;
  /** Value numbers by folded text, then by stored text; blanks last. */
  readonly order: Uint32Array;
  /** Group by value number. */
  readonly groupOf: Uint32Array;
  /** Position in `order` of each group's first value, and one more at the end. */
  readonly firstOf: Uint32Array;
  readonly groupTexts: ByteTexts;
}

export function groupValues(values: ByteTexts): Grouping {
  const folded = foldValues(values);
  const order = orderValues(values, folded);
  const groupOf = new Uint32Array(values.count);
  const firsts = new Uint32Array(values.count + 2);
  const offsets = new Uint32Array(values.count + 2);
  const bytes = new Uint8Array(folded.offsets[folded.count] as number);
  let groupCount = 0;
  let start = 0;
  let position = 0;
  for (let index = 0; index < order.length; index++) {
    const value = order[index] as number;
    // Each text is written after the last one and taken back if it turns out to be the same.
    const end = copyText(folded, value, bytes, position);
    if (groupCount === 0 || !isSameText(bytes, start, position, end)) {
      firsts[groupCount++] = index;
      start = position;
      position = end;
      offsets[groupCount] = position;
    }
    groupOf[value] = groupCount - 1;
  }
  // The blank group is there even if no row is blank, so that its number is always the last one.
  const hasBlank = groupCount > 0 && offsets[groupCount] === offsets[groupCount - 1];
  if (!hasBlank) firsts[groupCount++] = order.length;
  firsts[groupCount] = order.length;
  offsets[groupCount] = position;
  const groupTexts = {
    bytes: bytes.slice(0, position),
    offsets: offsets.slice(0, groupCount + 1),
    count: groupCount,
  };
  return { groupCount, order, groupOf, firstOf: firsts.slice(0, groupCount + 1), groupTexts };
}

function copyText({ bytes, offsets }: ByteTexts, text: number, target: Uint8Array, position: number): number {
  const start = offsets[text] as number;
  const end = offsets[text + 1] as number;
  for (let at = start; at < end; at++) target[position + at - start] = bytes[at] as number;
  return position + end - start;
}

// Compares the bytes from `start` with those from `position`, which is where the former end.
function isSameText(bytes: Uint8Array, start: number, position: number, end: number): boolean {
  if (position - start !== end - position) return false;
  for (let at = position; at < end; at++) if (bytes[at] !== bytes[start + at - position]) return false;
  return true;
}

function orderValues(values: ByteTexts, folded: ByteTexts): Uint32Array {
  const all = new Uint32Array(values.count);
  let filled = 0;
  let blankStart = values.count;
  for (let value = 0; value < values.count; value++) {
    if (folded.offsets[value] === folded.offsets[value + 1]) all[--blankStart] = value;
    else all[filled++] = value;
  }
  const order = all.subarray(0, filled);
  sortTexts(order, folded);
  // Texts that differ only in case or accents are adjacent now; ordering them makes builds reproducible.
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && equalTexts(folded, order[start] as number, order[end] as number)) end++;
    if (end - start > 1) sortTexts(order.subarray(start, end), values);
    start = end;
  }
  sortTexts(all.subarray(filled), values);
  return all;
}

function equalTexts({ bytes, offsets }: ByteTexts, a: number, b: number): boolean {
  const startA = offsets[a] as number;
  const startB = offsets[b] as number;
  const length = (offsets[a + 1] as number) - startA;
  if ((offsets[b + 1] as number) - startB !== length) return false;
  for (let index = 0; index < length; index++)
    if (bytes[startA + index] !== bytes[startB + index]) return false;
  return true;
}

// A variant identifies the stored text of a row within its group; columns without such groups have none.
function writeVariants(
  source: ColumnSource,
  { order, groupOf, firstOf, groupCount }: Grouping,
  store: ArrayStore,
): void {
  const first = firstOf;
  let largest = 0;
  for (let group = 0; group < groupCount; group++)
    largest = Math.max(largest, (first[group + 1] as number) - (first[group] as number));
  const { name, recordOfRow, valueOfRecord } = source;
  // Without variants, group and value number are the same, apart from a blank group that nothing uses.
  if (largest <= 1) return;
  const positionOf = new Uint32Array(order.length);
  for (let index = 0; index < order.length; index++) positionOf[order[index] as number] = index;
  store.allocate(`${name}.firsts`, 'u32', groupCount + 1).set(first);
  const variants = store.allocateCodes(`${name}.variants`, largest, recordOfRow.length);
  for (let row = 0; row < recordOfRow.length; row++) {
    const value = valueOfRecord[recordOfRow[row] as number] as number;
    variants[row] = (positionOf[value] as number) - (first[groupOf[value] as number] as number);
  }
}

// The texts as they are shown, escaped for JSON, in the order of the groups. Returns the places of those
// whose folded text is not that with lower-case ASCII letters.
function writeValues(
  name: string,
  values: ByteTexts,
  { order, groupCount, groupOf, groupTexts }: Grouping,
  store: ArrayStore,
): number[] {
  const offsets = store.allocate(`${name}.offsets`, 'u32', Math.max(order.length, groupCount) + 1);
  let left = values.offsets[values.count] as number;
  let bytes = new Uint8Array(left);
  const special: number[] = [];
  let position = 0;
  for (let index = 0; index < order.length; index++) {
    const value = order[index] as number;
    const start = values.offsets[value] as number;
    const end = values.offsets[value + 1] as number;
    left -= end - start;
    if (isPlain(values.bytes, start, end)) {
      position = copyText(values, value, bytes, position);
    } else {
      const text = escapeJson(values.bytes.subarray(start, end));
      if (!isFoldedOf(text, groupTexts, groupOf[value] as number)) special.push(index);
      if (position + text.length + left > bytes.length) bytes = enlarge(bytes, text.length);
      bytes.set(text, position);
      position += text.length;
    }
    offsets[index + 1] = position;
  }
  for (let index = order.length; index + 1 < offsets.length; index++) offsets[index + 1] = position;
  store.allocate(`${name}.values`, 'u8', position).set(bytes.subarray(0, position));
  return special;
}

function enlarge(bytes: Uint8Array, more: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.ceil(bytes.length * 1.25) + more);
  larger.set(bytes);
  return larger;
}

// Groups of such texts store the folded text separately.
function writeExceptions(
  name: string,
  special: readonly number[],
  { order, groupOf, firstOf, groupTexts }: Grouping,
  store: ArrayStore,
): void {
  const groups = special.flatMap((index) => {
    const group = groupOf[order[index] as number] as number;
    return firstOf[group] === index ? [group] : [];
  });
  store.allocate(`${name}.exceptions`, 'u32', groups.length).set(groups);
  const offsets = store.allocate(`${name}.exceptionOffsets`, 'u32', groups.length + 1);
  for (const [index, group] of groups.entries()) {
    offsets[index + 1] =
      (offsets[index] as number) +
      (groupTexts.offsets[group + 1] as number) -
      (groupTexts.offsets[group] as number);
  }
  const bytes = store.allocate(`${name}.exceptionTexts`, 'u8', offsets[groups.length] as number);
  for (const [index, group] of groups.entries()) {
    bytes.set(
      groupTexts.bytes.subarray(groupTexts.offsets[group], groupTexts.offsets[group + 1]),
      offsets[index] as number,
    );
  }
}

// True for many texts in scripts without upper-case letters.
function isFoldedOf(text: Uint8Array, { bytes, offsets }: ByteTexts, group: number): boolean {
  const start = offsets[group] as number;
  if ((offsets[group + 1] as number) - start !== text.length) return false;
  return text.every((byte, at) => bytes[start + at] === (byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte));
}

function isPlain(bytes: Uint8Array, start: number, end: number): boolean {
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number;
    if (byte > 0x7f || byte < 0x20 || byte === 0x22 || byte === 0x5c) return false;
  }
  return true;
}
