import { lowerBound, type ArrayReader } from './arrays.ts';
import { hasBit, setBit, setBits, wordCount } from './bits.ts';
import { readTrigramList } from './trigram-list.ts';
import { AlikeRuns, findEnd, prepareInside, type TextColumn } from './text-column.ts';

/** The names of a column's arrays of other spellings (`spellings.ts`). */
export const spellingArrays = (column: string) =>
  ({
    bytes: `${column}.spellings`,
    offsets: `${column}.spellingOffsets`,
    groups: `${column}.spellingGroups`,
    spans: `${column}.spans`,
  }) as const;

/** The other spellings of a column's texts, each with its group. */
export interface SpelledTexts {
  /** Groups with a spelling that begins with `wanted`, or is it. They may repeat, in any order. */
  findStart(wanted: Uint8Array, isWhole: boolean): Uint32Array;
  /**
   * Adds to a set the groups with a spelling that holds `wanted` where it differs from the text, and perhaps
   * some that hold it elsewhere. For texts found by their inside only, and three bytes or more.
   */
  addInside(wanted: Uint8Array, found: Uint32Array): void;
}

const trigramBytes = 3;

/** Undefined for columns without other spellings. */
export function openSpelledTexts(column: TextColumn, arrays: ArrayReader): SpelledTexts | undefined {
  const names = spellingArrays(column.name);
  const offsets = arrays.find(names.offsets, 'u32');
  if (offsets === undefined) return undefined;
  const bytes = Buffer.from(arrays.get(names.bytes, 'u8').buffer);
  const groups = arrays.get(names.groups, 'u32');
  const keys = arrays.find(`${names.spans}.grams.keys`, 'u32');
  const count = groups.length;

  // Compared as far as `wanted` goes.
  const compareAt = (text: number, wanted: Uint8Array): number => {
    const start = offsets[text] as number;
    const end = Math.min(offsets[text + 1] as number, start + wanted.length);
    return bytes.compare(wanted, 0, wanted.length, start, end);
  };
  const search = (isBefore: (text: number) => boolean): number => {
    let [low, high] = [0, count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    findStart(wanted, isWhole) {
      const first = search((text) => compareAt(text, wanted) < 0);
      const end = search((text) => compareAt(text, wanted) <= 0);
      if (!isWhole) return groups.subarray(first, end);
      let last = first;
      const isEqual = (text: number): boolean =>
        (offsets[text + 1] as number) - (offsets[text] as number) === wanted.length;
      // The shortest ones come first.
      while (last < end && isEqual(last)) last++;
      return groups.subarray(first, last);
    },
    addInside(wanted, found) {
      if (keys === undefined)
        throw new TypeError(`The spellings of ${column.name} are not found by their inside.`);
      const inside = prepareInside(wanted);
      const endInside = (text: number): number =>
        findEnd(bytes, offsets[text] as number, offsets[text + 1] as number, inside);
      // Zero bytes stand between the runs.
      if (wanted.includes(0))
        for (let text = 0; text < count; text++)
          if (endInside(text) > 0) setBit(found, groups[text] as number);
      const counts = arrays.get(`${names.spans}.grams.counts`, 'u32');
      const starts = arrays.get(`${names.spans}.grams.offsets`, 'u32');
      const lists = arrays.get(`${names.spans}.grams.lists`, 'u8');
      const isSeen = new Uint32Array(wordCount(count));
      for (let at = 0; at + trigramBytes <= wanted.length; at++) {
        const key =
          ((wanted[at] as number) << 16) | ((wanted[at + 1] as number) << 8) | (wanted[at + 2] as number);
        const index = lowerBound(keys, key);
        if (keys[index] !== key) continue;
        const texts = readTrigramList({
          lists,
          start: starts[index] as number,
          count: counts[index] as number,
        });
        const runs = new AlikeRuns(column);
        const groupAt = (place: number): number => groups[texts[place] as number] as number;
        for (let place = 0, next = 0; place < texts.length; place = next) {
          next = place + 1;
          const text = texts[place] as number;
          const group = groups[text] as number;
          if (hasBit(isSeen, text) || hasBit(found, group)) continue;
          setBit(isSeen, text);
          const end = endInside(text);
          if (end === 0) continue;
          // In the text itself at most so many bytes more come before that end as it has marks.
          const marks = column.loadFolded(group) - (offsets[text + 1] as number) + (offsets[text] as number);
          next = runs.endFrom(place, texts.length, groupAt, end + marks);
          setBits(found, group, groupAt(next - 1) + 1);
        }
      }
    },
  };
}
