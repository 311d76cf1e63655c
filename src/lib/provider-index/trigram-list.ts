/**
 * A list of ascending numbers as differences, seven bits a byte, the last byte of each below 0x80. A zero and
 * a count stand for so many differences of one: texts that are neighbors in their order have their beginning
 * in common.
 */
export interface TrigramList {
  readonly lists: Uint8Array;
  /** First byte. */
  readonly start: number;
  /** Numbers in the list: groups of a column, or rows. */
  readonly count: number;
}

/** True for the bytes of a character in UTF-8 other than its first: no wanted text begins with one. */
export function isInsideCharacter(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Fewer differences of one are written as they are. */
export const minRun = 3;

/** Puts a number at `at`; returns where it ends. */
export function putNumber(value: number, bytes: Uint8Array, at: number): number {
  let end = at;
  let left = value;
  for (; left >= 0x80; left >>>= 7) bytes[end++] = (left & 0x7f) | 0x80;
  bytes[end++] = left;
  return end;
}

/** Puts so many differences of one at `at`; returns where they end. */
export function putRun(length: number, bytes: Uint8Array, at: number): number {
  let end = at;
  if (length < minRun) {
    for (let left = length; left > 0; left--) bytes[end++] = 1;
    return end;
  }
  bytes[end++] = 0;
  return putNumber(length, bytes, end);
}

export function formatTrigramList(ascending: Uint32Array): Uint8Array {
  const bytes = new Uint8Array(ascending.length * 5);
  let end = 0;
  let last = -1;
  let run = 0;
  for (let index = 0; index < ascending.length; index++) {
    const value = ascending[index] as number;
    if (value === last + 1) run++;
    else {
      end = putNumber(value - last, bytes, putRun(run, bytes, end));
      run = 0;
    }
    last = value;
  }
  return bytes.slice(0, putRun(run, bytes, end));
}

export function readTrigramList({ lists, start, count }: TrigramList): Uint32Array {
  const groups = new Uint32Array(count);
  let group = -1;
  let at = start;
  for (let index = 0; index < count;) {
    let byte = lists[at++] as number;
    const isRun = byte === 0;
    if (isRun) byte = lists[at++] as number;
    let step = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = lists[at++] as number;
      step |= (byte & 0x7f) << shift;
    }
    if (isRun) {
      for (const end = index + step; index < end; index++) groups[index] = ++group;
    } else {
      group += step;
      groups[index++] = group;
    }
  }
  return groups;
}

/** Flips the bits of the numbers in the list. */
export function flipTrigramList({ lists, start, count }: TrigramList, bits: Uint32Array): void {
  let number = -1;
  let at = start;
  for (let left = count; left > 0;) {
    let byte = lists[at++] as number;
    const isRun = byte === 0;
    if (isRun) byte = lists[at++] as number;
    let step = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = lists[at++] as number;
      step |= (byte & 0x7f) << shift;
    }
    const end = number + step;
    number = isRun ? number + 1 : end;
    left -= isRun ? step : 1;
    for (; number <= end; number++)
      bits[number >>> 5] = (bits[number >>> 5] as number) ^ (1 << (number & 31));
    number = end;
  }
}

/** The members of `groups`, ascending, that are in the list too; written over the front of `groups`. */
export function intersectTrigramList(groups: Uint32Array, { lists, start, count }: TrigramList): Uint32Array {
  let kept = 0;
  let index = 0;
  // The last one of the list so far.
  let group = -1;
  let at = start;
  for (let left = count; left > 0 && index < groups.length;) {
    let byte = lists[at++] as number;
    const isRun = byte === 0;
    if (isRun) byte = lists[at++] as number;
    let step = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = lists[at++] as number;
      step |= (byte & 0x7f) << shift;
    }
    const first = isRun ? group + 1 : group + step;
    group += step;
    left -= isRun ? step : 1;
    while (index < groups.length && (groups[index] as number) < first) index++;
    while (index < groups.length && (groups[index] as number) <= group)
      groups[kept++] = groups[index++] as number;
  }
  return groups.subarray(0, kept);
}
