import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBitsPool } from './intersect.ts';
import { createKeptResults, type FoundResult } from './kept-results.ts';
import { resultKey } from './result-key.ts';
import type { ProviderQuery } from './types.ts';

const words = 1000;

function queryOf(
  value: string,
  page: { offset: number; limit: number } = { offset: 0, limit: 10 },
): ProviderQuery {
  return { filters: [{ field: 'city', match: 'prefix', value }], sort: [], ...page };
}

function resultOf(matches: FoundResult['matches']): FoundResult {
  return { matches, steps: [], circle: undefined, groupRange: undefined, pagesAsked: 0 };
}

test('another page of a query gets the same result, another query does not', () => {
  const results = createKeptResults(100_000, createBitsPool(words));
  let made = 0;
  const find = (): FoundResult => resultOf({ count: ++made });
  const counts = [
    queryOf('a'),
    queryOf('a', { offset: 20, limit: 50 }),
    queryOf('b'),
    { ...queryOf('a'), sort: [{ field: 'city', isDescending: true }] as const },
    { ...queryOf('a'), radius: { latitude: 1, longitude: 2, miles: 3 } },
    queryOf('a'),
  ].map((query) => results.obtain(query, find).matches.count);
  assert.deepEqual(counts, [1, 1, 2, 3, 4, 1]);
  assert.equal(results.obtain(queryOf('a'), find).pagesAsked, 4);
});

test('a value cannot pass for several conditions', () => {
  const filter = { field: 'city', match: 'prefix', value: 'a' } as const;
  const key = resultKey({ filters: [filter, filter], sort: [] });
  for (const value of ['a city prefix 1 a', `a${key.slice(key.lastIndexOf(' city'))}`])
    assert.notEqual(resultKey({ filters: [{ ...filter, value }], sort: [] }), key);
});

test('a kept set is not used by later queries; when its result leaves, it is', () => {
  const pool = createBitsPool(words);
  const results = createKeptResults(words * 4 * 2 + 8000, pool);
  const find = (): FoundResult => resultOf({ count: 5000, bits: pool.take() });
  const bitsOf = (value: string): Uint32Array | undefined => {
    const { bits } = results.obtain(queryOf(value), find).matches;
    pool.releaseAll();
    return bits;
  };
  const first = bitsOf('a');
  const second = bitsOf('b');
  assert.notEqual(first, second);
  assert.equal(bitsOf('a'), first);
  // The third makes the second leave, which was not asked for longest.
  const third = bitsOf('c');
  assert.ok(third !== first && third !== second);
  assert.equal(pool.take(), second);
  pool.releaseAll();
  assert.equal(bitsOf('a'), first);
});

test('a result that fills the room alone is found, but not kept, and its set stays whole until the query ends', () => {
  const pool = createBitsPool(words);
  const results = createKeptResults(1000, pool);
  const { bits } = results.obtain(queryOf('a'), () => resultOf({ count: 5000, bits: pool.take() })).matches;
  assert.notEqual(pool.take(), bits);
  pool.releaseAll();
  assert.ok([pool.take(), pool.take()].includes(bits as Uint32Array<ArrayBuffer>));
});
