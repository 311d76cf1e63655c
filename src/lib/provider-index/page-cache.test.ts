import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPageCache } from './page-cache.ts';
import type { SearchPage } from './search-pool.ts';
import type { ProviderQuery } from './types.ts';

function queryOf(value: string, offset = 0): ProviderQuery {
  return { filters: [{ field: 'lastName', match: 'prefix', value }], sort: [], offset, limit: 10 };
}

function pageOf(totalCount: number, bytes = 100): SearchPage {
  return { totalCount, count: 1, json: new Uint8Array(bytes) };
}

/** Answers with the number of searches made so far. */
function countingSearch(bytes?: number): { make(): SearchPage; readonly made: number } {
  let made = 0;
  return {
    make: () => pageOf(++made, bytes),
    get made() {
      return made;
    },
  };
}

test('a query that comes again is answered from memory, another one is not', async () => {
  const cache = createPageCache(100_000);
  const search = countingSearch();
  for (const query of [queryOf('a'), queryOf('a'), queryOf('A'), queryOf('a', 10)])
    await cache.obtain(query, search.make);
  assert.equal(search.made, 3);
  assert.equal((await cache.obtain(queryOf('a'), search.make)).totalCount, 1);
  assert.equal((await cache.obtain(queryOf('a', 10), search.make)).totalCount, 3);
});

test('whoever asks while the page is being made waits for it', async () => {
  const cache = createPageCache(0);
  const { promise, resolve } = Promise.withResolvers<SearchPage>();
  const first = cache.obtain(queryOf('a'), () => promise);
  const second = cache.obtain(queryOf('a'), () => assert.fail('searched twice'));
  const page = pageOf(7);
  resolve(page);
  assert.equal(await first, page);
  assert.equal(await second, page);
});

test('a failure reaches all who wait and is not kept', async () => {
  const cache = createPageCache(100_000);
  const { promise, reject } = Promise.withResolvers<SearchPage>();
  const waiting = [1, 2].map(() => cache.obtain(queryOf('a'), () => promise));
  reject(new RangeError('broken'));
  for (const one of waiting) await assert.rejects(one, RangeError);
  const search = countingSearch();
  assert.equal((await cache.obtain(queryOf('a'), search.make)).totalCount, 1);
  assert.throws(() => cache.obtain(queryOf('b'), () => assert.fail('at once')), { message: 'at once' });
  assert.equal((await cache.obtain(queryOf('b'), search.make)).totalCount, 2);
});

test('the pages asked for longest ago make room', async () => {
  // Three pages of 4000 bytes with what belongs to them fit.
  const cache = createPageCache(16_000);
  const search = countingSearch(4000);
  const ask = async (value: string): Promise<boolean> => {
    const before = search.made;
    await cache.obtain(queryOf(value), search.make);
    return search.made === before;
  };
  for (const value of ['a', 'b', 'c']) assert.equal(await ask(value), false);
  assert.equal(await ask('a'), true);
  assert.equal(await ask('d'), false);
  assert.deepEqual([await ask('a'), await ask('c'), await ask('d')], [true, true, true]);
  assert.equal(await ask('b'), false);
});

test('a page larger than the whole cache leaves the others where they are', async () => {
  const cache = createPageCache(10_000);
  const small = countingSearch(100);
  const large = countingSearch(20_000);
  await cache.obtain(queryOf('small'), small.make);
  await cache.obtain(queryOf('large'), large.make);
  await cache.obtain(queryOf('large'), large.make);
  await cache.obtain(queryOf('small'), small.make);
  assert.deepEqual([small.made, large.made], [1, 2]);
});
