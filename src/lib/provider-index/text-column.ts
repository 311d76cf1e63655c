import { Ascending, findAscending } from './ascending.ts';
import type { ArrayReader, CodeArray } from './arrays.ts';
import { shownColumns, type ColumnName } from './columns.ts';
import { countOnes, hasBit, setBit, wordCount } from './bits.ts';
import type { PackedField, PackedName } from './packed-rows.ts';
import { openSections, type Sections } from './sections.ts';

/**
 * One column of texts, read-only. Rows with equal folded text share a group; groups are in code-point order,
 * the blank one last.
 */
export interface TextColumn {
  readonly name: string;
  readonly groupCount: number;
  /** Group of each row; empty for a column that is only shown. */
  readonly codes: CodeArray;
  /**
   * Rows of group `g`: `postings[starts[g]]` up to `postings[starts[g + 1]]`, by id. Without postings: those
   * row numbers themselves.
   */
  readonly starts: Ascending;
  readonly postings: Uint32Array | undefined;
  /** The groups ordered by their text without punctuation; absent if that is the same order. */
  readonly alternate: AlternateOrder | undefined;
  /** Absent in small indexes, and where no order begins with the column. */
  readonly sections: Sections | undefined;
  /** Bytes between the quotes of a JSON string. */
  readonly values: Uint8Array;
  readonly offsets: Ascending;
  /**
   * Puts the first and the end byte in `values` of each row's text into `span`; returns how many bytes they
   * have together. At most `locatedRows` rows.
   */
  locate(rows: Uint32Array, span: Uint32Array): number;
  /** True if both rows have the same text, spelled alike. */
  isSameText(row: number, other: number): boolean;
  /**
   * Reads a little of the texts of some groups, so that they are near when each is looked at: many such reads
   * continue at once.
   */
  approach(groups: Uint32Array): void;
  /** Puts the folded text of a group into `scratch` and returns its length. */
  loadFolded(group: number): number;
  readonly scratch: Uint8Array;
  /** Where `wanted` ends in the folded text of a group for the first time; 0 if it is not there. */
  endInside(group: number, wanted: WantedInside): number;
  /** True if the first bytes of the folded texts of two groups are the same. */
  beginAlike(group: number, other: number, length: number): boolean;
  readonly blankGroup: number;
}

// A text has at most this many UTF-16 units, each at most nine bytes once it is decomposed.
export const maxTextLength = 4000;
const maxFoldedBytes = maxTextLength * 9;

/**
 * A second order of a column's groups, with separate postings; its groups are the positions in that order.
 */
export interface AlternateOrder {
  readonly codes: CodeArray;
  /** From a code to the place of its group. */
  readonly ranks: Uint32Array;
  readonly starts: Ascending;
  readonly postings: Uint32Array;
  /** From a place to the column's group. */
  readonly order: Uint32Array;
}

function openAlternate(name: string, codes: CodeArray, arrays: ArrayReader): AlternateOrder | undefined {
  const order = arrays.find(`${name}.alternate.order`, 'u32');
  if (order === undefined) return undefined;
  return {
    codes,
    order,
    ranks: arrays.get(`${name}.alternate.ranks`, 'u32'),
    starts: new Ascending(`${name}.alternate.starts`, arrays),
    postings: arrays.get(`${name}.alternate.postings`, 'u32'),
  };
}

const noCodes = new Uint8Array(0);

const lowerCase = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte,
);

/** The packed rows have the number of each row's text among the values. */
export function openTextColumn(
  name: ColumnName,
  arrays: ArrayReader,
  packed: ReadonlyMap<PackedName, PackedField>,
): TextColumn {
  const shown = packed.get(name) as PackedField;
  const starts = new Ascending(`${name}.starts`, arrays);
  const values = arrays.get(`${name}.values`, 'u8');
  const offsets = new Ascending(`${name}.offsets`, arrays);
  const codes = shownColumns.has(name) ? noCodes : arrays.getCodes(`${name}.codes`);
  const firsts = findAscending(`${name}.firsts`, arrays);
  const exceptions = arrays.get(`${name}.exceptions`, 'u32');
  const exceptionOffsets = new Ascending(`${name}.exceptionOffsets`, arrays);
  const exceptionTexts = arrays.get(`${name}.exceptionTexts`, 'u8');
  const groupCount = starts.length - 1;

  const scratch = new Uint8Array(maxFoldedBytes);
  // Texts with other letters that are folded, or JSON escapes, keep their folded form apart; all others are
  // folded as they are read.
  const isException = new Uint32Array(exceptions.length === 0 ? 0 : wordCount(groupCount));
  for (const group of exceptions) setBit(isException, group);
  const exceptionsBefore = countBefore(isException);

  function exceptionOf(group: number): number {
    const word = group >>> 5;
    const before = (isException[word] as number) & ((1 << (group & 31)) - 1);
    return (exceptionsBefore[word] as number) + countOnes(before);
  }

  const valueOf = (group: number): number => (firsts === undefined ? group : firsts.at(group));

  // The text of the group that was looked for last: the bytes [start, end) of `source`, folded but for case.
  let source = values;
  let [start, end] = [0, 0];
  function seek(group: number): void {
    const isOther = isException.length > 0 && hasBit(isException, group);
    const index = isOther ? exceptionOf(group) : valueOf(group);
    const places = isOther ? exceptionOffsets : offsets;
    source = isOther ? exceptionTexts : values;
    start = group === groupCount - 1 ? 0 : places.at(index);
    end = group === groupCount - 1 ? 0 : places.at(index + 1);
  }

  return {
    name,
    groupCount,
    blankGroup: groupCount - 1,
    codes,
    starts,
    postings: arrays.find(`${name}.postings`, 'u32'),
    alternate: openAlternate(name, codes, arrays),
    sections: openSections(name, arrays),
    values,
    offsets,
    scratch,
    locate(rows, span) {
      shown.gather(rows, places);
      return spanValues(values, offsets, rows.length, span);
    },
    isSameText: (row, other) => shown.at(row) === shown.at(other),
    approach(groups) {
      let touched = 0;
      for (let index = 0; index < groups.length; index++) {
        const group = groups[index] as number;
        touched ^= values[offsets.at(valueOf(group))] ?? 0;
      }
      used[0] = touched;
    },
    loadFolded(group) {
      seek(group);
      for (let at = start; at < end; at++) scratch[at - start] = lowerCase[source[at] as number] as number;
      return end - start;
    },
    endInside(group, wanted) {
      // Most texts, without a detour.
      if (isException.length === 0 || !hasBit(isException, group)) {
        const value = valueOf(group);
        return group === groupCount - 1
          ? 0
          : findEnd(values, offsets.at(value), offsets.at(value + 1), wanted);
      }
      seek(group);
      return findEnd(source, start, end, wanted);
    },
    beginAlike(group, other, length) {
      seek(group);
      const [bytes, first, isShort] = [source, start, end - start < length];
      seek(other);
      if (isShort || end - start < length) return false;
      for (let at = length - 1; at >= 0; at--)
        if (lowerCase[bytes[first + at] as number] !== lowerCase[source[start + at] as number]) return false;
      return true;
    },
  };
}

// The ones before each word.
function countBefore(bits: Uint32Array): Uint32Array {
  const before = new Uint32Array(bits.length);
  for (let word = 1; word < bits.length; word++)
    before[word] = (before[word - 1] as number) + countOnes(bits[word - 1] as number);
  return before;
}

// Puts the places of the bytes of some values into `span`.
function spanValues(values: Uint8Array, offsets: Ascending, count: number, span: Uint32Array): number {
  let bytes = 0;
  let touched = 0;
  for (let index = 0; index < count; index++) {
    const value = places[index] as number;
    const start = offsets.at(value);
    const end = offsets.at(value + 1);
    span[index * 2] = start;
    span[index * 2 + 1] = end;
    bytes += end - start;
  }
  // Reading the ends of each text here brings it near before it is copied; many such reads continue at once.
  for (let index = 0; index < count; index++)
    touched ^= (values[span[index * 2] as number] ?? 0) ^ (values[(span[index * 2 + 1] as number) - 1] ?? 0);
  // The compiler would remove a read whose result is not used.
  used[0] = touched;
  return bytes;
}

/** Rows whose texts are located together: enough for the processor to overlap the reads. */
export const locatedRows = 64;

// Values of the rows that are being located.
const places = new Uint32Array(locatedRows);

const used = new Uint8Array(1);

/** What is looked for inside texts, at least one byte. */
export interface WantedInside {
  readonly bytes: Uint8Array;
  /** By the last byte under it, how far it may move on (Horspool). */
  readonly steps: Uint8Array;
}

export function prepareInside(bytes: Uint8Array): WantedInside {
  const last = bytes.length - 1;
  const steps = new Uint8Array(256).fill(Math.min(bytes.length, 255));
  for (let at = Math.max(0, last - 254); at < last; at++) steps[bytes[at] as number] = last - at;
  // Texts are compared without regard to case.
  for (let byte = 0x41; byte <= 0x5a; byte++) steps[byte] = steps[byte | 0x20] as number;
  return { bytes, steps };
}

/**
 * Where what is wanted ends in the bytes [start, end), from their start; 0 if they do not hold it.
 * Lower-cases while it compares; bytes that are already folded do not change.
 */
export function findEnd(bytes: Uint8Array, start: number, end: number, wanted: WantedInside): number {
  const { bytes: own, steps } = wanted;
  const last = own.length - 1;
  const lastByte = own[last] as number;
  for (let at = start + last; at < end;) {
    const byte = bytes[at] as number;
    if (lowerCase[byte] === lastByte) {
      let same = 1;
      while (same <= last && lowerCase[bytes[at - same] as number] === own[last - same]) same++;
      if (same > last) return at + 1 - start;
    }
    at += steps[byte] as number;
  }
  return 0;
}

// A run is looked for by its place so far away first. Where there is none, it is not looked for again before
// twice as far, and then twice as far again.
const shortestRun = 8;
const longestWait = 1024;

/**
 * Finds runs of groups that begin alike. In the order of texts all that lie between two that begin alike
 * begin so, too: few of a run are looked at.
 */
export class AlikeRuns {
  readonly #column: Pick<TextColumn, 'beginAlike'>;
  #next = 0;
  #wait = shortestRun;

  constructor(column: Pick<TextColumn, 'beginAlike'>) {
    this.#column = column;
  }

  /** The place behind the groups, ascending from `at` on, that begin with the same bytes as the first. */
  endFrom(at: number, end: number, groupAt: (place: number) => number, length: number): number {
    if (at < this.#next) return at + 1;
    const own = groupAt(at);
    const isAlike = (place: number): boolean => this.#column.beginAlike(own, groupAt(place), length);
    let low = at;
    let step = shortestRun;
    for (; at + step < end && isAlike(at + step); step *= 2) low = at + step;
    this.#wait = low > at ? shortestRun : Math.min(longestWait, this.#wait * 2);
    if (low === at) {
      this.#next = at + this.#wait;
      return at + 1;
    }
    let high = Math.min(end, at + step);
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (isAlike(middle)) low = middle;
      else high = middle;
    }
    return high;
  }
}
