import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setBit, wordCount } from '../bits.ts';
import type { TextColumn } from '../text-column.ts';
import { isLongWalk } from './walk-column.ts';

const rowCount = 100_000;
const groupCount = 100;

/** A thousand rows a group, in order; `bits` holds the rows of the groups [first, end). */
function walkOver(first: number, end: number) {
  const bits = new Uint32Array(wordCount(rowCount));
  for (let row = first * 1000; row < end * 1000; row++) setBit(bits, row);
  const column = {
    codes: Uint8Array.from({ length: rowCount }, (_, row) => Math.floor(row / 1000)),
    starts: Uint32Array.from({ length: groupCount + 1 }, (_, group) => group * 1000),
  } as unknown as TextColumn;
  const count = (end - first) * 1000;
  return { column, bits, count, first: 0, end: groupCount, maxSteps: 20_000 };
}

const cases: readonly (readonly [
  name: string,
  matching: readonly [number, number],
  isDescending: boolean,
  from: number,
  isLong: boolean,
])[] = [
  ['late matches, first page', [70, 90], false, 0, true],
  ['late matches, first page, descending', [80, 95], true, 0, false],
  ['early matches, first page', [5, 40], false, 0, false],
  ['early matches, first page, descending', [5, 40], true, 0, true],
  ['early matches, last page', [5, 40], false, 34_990, true],
  ['late matches, last page', [70, 95], false, 24_990, false],
  ['matches everywhere, a page in the middle', [0, 100], false, 45_000, true],
];

for (const [name, matching, isDescending, from, isLong] of cases) {
  test(`${name}: ${isLong ? 'too far' : 'near'}`, () => {
    const walk = { ...walkOver(...matching), isDescending, from, to: from + 10 };
    assert.equal(isLongWalk(walk), isLong);
  });
}

test('without a set of matches every walk is as short as the page', () => {
  assert.equal(
    isLongWalk({ ...walkOver(70, 90), bits: undefined, isDescending: false, from: 0, to: 10 }),
    false,
  );
});
