import type { ArrayStore, CodeArray } from '../arrays.ts';
import { fillGroups, groupStarts } from './counting-sort.ts';
import { foldValues, type ByteTexts } from './fold-values.ts';
import { escapeJson, needsEscape } from './json-values.ts';
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
  readonly name: string;
  /** Distinct texts as stored. */
  readonly values: ByteTexts;
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
  const grouping = groupValues(values);
  const { groupCount, groupOf } = grouping;
  const codes = store.allocateCodes(`${name}.codes`, groupCount, recordOfRow.length);
  for (let row = 0; row < recordOfRow.length; row++) {
    codes[row] = groupOf[source.valueOfRecord[recordOfRow[row] as number] as number] as number;
  }
  writeVariants(source, grouping, store);
  writeValues(name, values, grouping, store);
  writeExceptions(name, values, grouping, store);
  const starts = store.allocate(`${name}.starts`, 'u32', groupCount + 1);
  groupStarts(codes, groupCount, starts);
  const postings = sequence === undefined ? undefined : store.allocate(`${name}.postings`, 'u32', recordOfRow.length);
  if (sequence !== undefined && postings !== undefined) fillGroups(codes, starts, sequence, postings);
  return { name, groupCount, folded: grouping.groupTexts, codes, starts, postings };
}

/** Which stored texts fold to the same. */
export interface Grouping {
  readonly groupCount: number;
  /** Value numbers by folded text, then by stored text; blanks last. */
  readonly order: Uint32Array;
  /** Of a value number. */
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
  let groupCount = 0;
  let blankAt = order.length;
  for (let index = 0; index < order.length; index++) {
    const value = order[index] as number;
    const isBlank = folded.offsets[value] === folded.offsets[value + 1];
    if (isBlank && blankAt === order.length) blankAt = index;
    const isNew = index === 0 || isBlank ? index === blankAt || index === 0 : !equalTexts(folded, order[index - 1] as number, value);
    if (isNew) firsts[groupCount++] = index;
    groupOf[value] = groupCount - 1;
  }
  // The blank group is there even if no row is blank, so that its number is always the last one.
  if (blankAt === order.length) firsts[groupCount++] = order.length;
  firsts[groupCount] = order.length;
  const firstOf = firsts.slice(0, groupCount + 1);
  return { groupCount, order, groupOf, firstOf, groupTexts: textsOfGroups(folded, order, firstOf) };
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
  // Texts that differ only in case or accents lie side by side now; their own order makes builds repeatable.
  for (let start = 0; start < order.length; ) {
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
  for (let index = 0; index < length; index++) if (bytes[startA + index] !== bytes[startB + index]) return false;
  return true;
}

function textsOfGroups(folded: ByteTexts, order: Uint32Array, firstOf: Uint32Array): ByteTexts {
  const count = firstOf.length - 1;
  const offsets = new Uint32Array(count + 1);
  const bytes = new Uint8Array(folded.offsets[folded.count] as number);
  let position = 0;
  for (let group = 0; group < count; group++) {
    const value = order[firstOf[group] as number];
    // The blank group may have no value at all.
    const start = value === undefined ? 0 : (folded.offsets[value] as number);
    const end = value === undefined ? 0 : (folded.offsets[value + 1] as number);
    for (let index = start; index < end; index++) bytes[position++] = folded.bytes[index] as number;
    offsets[group + 1] = position;
  }
  return { bytes: bytes.slice(0, position), offsets, count };
}

// A variant tells which of a group's stored texts a row has; columns without such groups have none.
function writeVariants(source: ColumnSource, { order, groupOf, firstOf, groupCount }: Grouping, store: ArrayStore): void {
  const first = firstOf;
  let largest = 0;
  for (let group = 0; group < groupCount; group++) largest = Math.max(largest, (first[group + 1] as number) - (first[group] as number));
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

// The texts as they are shown, escaped for JSON, in the order of the groups.
function writeValues(name: string, values: ByteTexts, { order, groupCount }: Grouping, store: ArrayStore): void {
  const escaped = new Map<number, Uint8Array>();
  let size = values.offsets[values.count] as number;
  for (let value = 0; value < values.count; value++) {
    const start = values.offsets[value] as number;
    const end = values.offsets[value + 1] as number;
    if (!needsEscape(values.bytes, start, end)) continue;
    const text = escapeJson(values.bytes.subarray(start, end));
    escaped.set(value, text);
    size += text.length - (end - start);
  }
  const offsets = store.allocate(`${name}.offsets`, 'u32', Math.max(order.length, groupCount) + 1);
  const bytes = store.allocate(`${name}.values`, 'u8', size);
  let position = 0;
  for (let index = 0; index < order.length; index++) {
    const value = order[index] as number;
    const text = escaped.get(value);
    if (text === undefined) {
      const end = values.offsets[value + 1] as number;
      for (let at = values.offsets[value] as number; at < end; at++) bytes[position++] = values.bytes[at] as number;
    } else {
      bytes.set(text, position);
      position += text.length;
    }
    offsets[index + 1] = position;
  }
  for (let index = order.length; index + 1 < offsets.length; index++) offsets[index + 1] = position;
}

// Groups whose folded text cannot be had by lower-casing the ASCII letters of the shown text keep it apart.
function writeExceptions(name: string, values: ByteTexts, grouping: Grouping, store: ArrayStore): void {
  const { order, firstOf, groupTexts } = grouping;
  const groups: number[] = [];
  const texts: Uint8Array[] = [];
  for (let group = 0; group < groupTexts.count; group++) {
    const value = order[firstOf[group] as number];
    if (value === undefined || isSimple(values.bytes, values.offsets[value] as number, values.offsets[value + 1] as number)) continue;
    groups.push(group);
    texts.push(groupTexts.bytes.subarray(groupTexts.offsets[group], groupTexts.offsets[group + 1]));
  }
  store.allocate(`${name}.exceptions`, 'u32', groups.length).set(groups);
  const offsets = store.allocate(`${name}.exceptionOffsets`, 'u32', groups.length + 1);
  const bytes = store.allocate(
    `${name}.exceptionTexts`,
    'u8',
    texts.reduce((sum, text) => sum + text.length, 0),
  );
  for (const [index, text] of texts.entries()) {
    bytes.set(text, offsets[index] as number);
    offsets[index + 1] = (offsets[index] as number) + text.length;
  }
}

function isSimple(bytes: Uint8Array, start: number, end: number): boolean {
  for (let index = start; index < end; index++) if ((bytes[index] as number) > 0x7f) return false;
  return !needsEscape(bytes, start, end);
}
