/** Sets of row numbers, one bit a row. */

export function wordCount(rowCount: number): number {
  return (rowCount + 31) >>> 5;
}

export function setBit(bits: Uint32Array, row: number): void {
  const word = row >>> 5;
  bits[word] = (bits[word] as number) | (1 << (row & 31));
}

/** Sets the bits [first, end). */
export function setBits(bits: Uint32Array, first: number, end: number): void {
  if (first >= end) return;
  const [low, high] = [first >>> 5, (end - 1) >>> 5];
  const [start, stop] = [-1 << (first & 31), -1 >>> (31 - ((end - 1) & 31))];
  if (low === high) {
    bits[low] = (bits[low] as number) | (start & stop);
    return;
  }
  bits[low] = (bits[low] as number) | start;
  bits.fill(0xffffffff, low + 1, high);
  bits[high] = (bits[high] as number) | stop;
}

export function clearBit(bits: Uint32Array, row: number): void {
  const word = row >>> 5;
  bits[word] = (bits[word] as number) & ~(1 << (row & 31));
}

export function hasBit(bits: Uint32Array, row: number): boolean {
  return (((bits[row >>> 5] as number) >>> (row & 31)) & 1) !== 0;
}

export function fillAll(bits: Uint32Array, rowCount: number): void {
  bits.fill(0xffffffff);
  if ((rowCount & 31) !== 0) bits[bits.length - 1] = (1 << (rowCount & 31)) - 1;
}

/** Leaves in `bits` the rows that were not in it. */
export function invert(bits: Uint32Array, rowCount: number): void {
  for (let word = 0; word < bits.length; word++) bits[word] = ~(bits[word] as number);
  if ((rowCount & 31) !== 0)
    bits[bits.length - 1] = (bits[bits.length - 1] as number) & ((1 << (rowCount & 31)) - 1);
}

export function countOnes(word: number): number {
  let ones = word - ((word >>> 1) & 0x55555555);
  ones = (ones & 0x33333333) + ((ones >>> 2) & 0x33333333);
  return Math.imul((ones + (ones >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

export function countBits(bits: Uint32Array): number {
  let count = 0;
  for (let word = 0; word < bits.length; word++) count += countOnes(bits[word] as number);
  return count;
}

/** Intersects `bits` with `other` in place; returns the number of rows left. */
export function intersectBits(bits: Uint32Array, other: Uint32Array): number {
  return writeCommon(bits, other, bits);
}

/** Overwrites `into` with the rows of both sets; returns their number. */
export function writeCommon(one: Uint32Array, other: Uint32Array, into: Uint32Array): number {
  let count = 0;
  for (let word = 0; word < into.length; word++) {
    const both = (one[word] as number) & (other[word] as number);
    into[word] = both;
    count += countOnes(both);
  }
  return count;
}

const sumWords = 256;
const noSums = new Uint32Array(0);

/**
 * The number of rows before each block of words, so that the pages of a set that is kept begin near their
 * first row.
 */
export function sumBits(bits: Uint32Array): Uint32Array {
  const sums = new Uint32Array(Math.ceil(bits.length / sumWords));
  let sum = 0;
  for (let word = 0; word < bits.length; word++) {
    if (word % sumWords === 0) sums[word / sumWords] = sum;
    sum += countOnes(bits[word] as number);
  }
  return sums;
}

/**
 * Rows of the set in ascending order, from the one of rank `offset`, at most `limit`. `sums` are those of the
 * set.
 */
export function pageOfBits(
  bits: Uint32Array,
  offset: number,
  limit: number,
  sums: Uint32Array = noSums,
): Uint32Array {
  const rows = new Uint32Array(limit);
  let found = 0;
  let block = 0;
  while (block + 1 < sums.length && (sums[block + 1] as number) <= offset) block++;
  let skip = offset - (sums[block] ?? 0);
  for (let word = block * sumWords; word < bits.length && found < limit; word++) {
    let left = bits[word] as number;
    if (left === 0) continue;
    if (skip > 0) {
      const ones = countOnes(left);
      if (ones <= skip) {
        skip -= ones;
        continue;
      }
      for (; skip > 0; skip--) left &= left - 1;
    }
    for (; left !== 0 && found < limit; left &= left - 1)
      rows[found++] = (word << 5) + (31 - Math.clz32(left & -left));
  }
  return rows.subarray(0, found);
}

/** All rows of the set, ascending. */
export function rowsOfBits(bits: Uint32Array, count: number): Uint32Array {
  return pageOfBits(bits, 0, count);
}
