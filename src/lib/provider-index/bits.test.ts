import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/random-directory.ts';
import { pageOfBits, setBit, sumBits, wordCount } from './bits.ts';

test('a page of a set is the same with its sums', () => {
  const random = seededRandom(17);
  for (const [rowCount, share] of [
    [1, 1],
    [31, 0],
    [8192, 1],
    [8193, 0.5],
    [60_000, 0.9],
    [60_000, 0.001],
    [60_000, 0],
  ] as const) {
    const bits = new Uint32Array(wordCount(rowCount));
    const rows = Array.from({ length: rowCount }, (_, row) => row).filter(() => random() < share);
    for (const row of rows) setBit(bits, row);
    const sums = sumBits(bits);
    const offsets = [0, rows.length - 1, rows.length, rows.length + 7, 8191, 8192, 8193];
    for (let round = 0; round < 50; round++) offsets.push(Math.floor(random() * (rows.length + 1)));
    for (const offset of offsets.filter((one) => one >= 0))
      for (const limit of [0, 1, 40]) {
        const expected = rows.slice(offset, offset + limit);
        assert.deepEqual([...pageOfBits(bits, offset, limit, sums)], expected);
        assert.deepEqual([...pageOfBits(bits, offset, limit)], expected);
      }
  }
});
