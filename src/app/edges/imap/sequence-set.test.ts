import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isInRanges, parseSequenceSet, writeSet } from './sequence-set.ts';

const numbersOf = (text: string, largest: number): readonly number[] => {
  const ranges = parseSequenceSet(text, largest) ?? [];
  return Array.from({ length: 12 }, (_, number) => number).filter((number) => isInRanges(ranges, number));
};

test('a set is what its ranges have together, in whatever order they are written', () => {
  for (const [text, expected] of [
    ['1', [1]],
    ['4,2', [2, 4]],
    ['3:1,2:5', [1, 2, 3, 4, 5]],
    ['9:*', [9, 10]],
    ['*:9', [9, 10]],
    ['*', [10]],
    ['11:*', [10, 11]],
    ['5,5,5,1:2,2:3,7', [1, 2, 3, 5, 7]],
  ] as const)
    assert.deepEqual(numbersOf(text, 10), expected, text);
  assert.equal(writeSet(numbersOf('7,1:3,2', 10)), '1:3,7');
  for (const bad of ['', '0', '1:', ':1', '1,,2', 'a', '-1', '1:2:3', '12345678901'])
    assert.equal(parseSequenceSet(bad, 10), undefined, bad);
});

test('a line full of numbers is looked up in a mailbox of 100,000 as fast as one range', () => {
  const text = Array.from({ length: 3_000 }, (_, at) => 2 * at + 1).join(',');
  const ranges = parseSequenceSet(text, 100_000) ?? [];
  const before = process.cpuUsage();
  let found = 0;
  for (let number = 1; number <= 100_000; number++) if (isInRanges(ranges, number)) found++;
  const { user } = process.cpuUsage(before);
  assert.equal(found, 3_000);
  assert.ok(user < 200_000, `${user / 1000} ms`);
});
