import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGrowingCache } from './index.ts';

test('the least recently used entry goes first, and no memory is taken for entries that are not there', () => {
  const before = process.memoryUsage();
  const large = createGrowingCache<number>(1_000_000);
  const after = process.memoryUsage();
  const taken = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  assert.ok(taken < 1_000_000, `${taken} bytes`);
  large.set('a', 1);
  assert.equal(large.get('a'), 1);

  const small = createGrowingCache<number>(3);
  for (const [index, key] of ['a', 'b', 'c'].entries()) small.set(key, index);
  small.get('a');
  small.set('d', 3);
  small.set('d', 4);
  assert.deepEqual([...small.keys()], ['d', 'a', 'c']);
  small.delete('a');
  small.set('e', 5);
  small.set('f', 6);
  assert.deepEqual(
    [...small.entries()],
    [
      ['f', 6],
      ['e', 5],
      ['d', 4],
    ],
  );
});
