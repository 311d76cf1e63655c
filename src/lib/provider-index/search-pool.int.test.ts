import type { ProviderRecord } from '../provider-record/index.ts';
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, mock, test } from 'node:test';
import { searchPlainly } from '../../../test/support/plain-directory.ts';
import { randomDirectory, randomQuery, seededRandom } from '../../../test/support/random-directory.ts';
import {
  createIndexBuilder,
  createSearchPool,
  ProviderIndexError,
  readSnapshot,
  type FoundPage,
  type IndexBuilder,
  type ProviderIndex,
  type SharedIndexBytes,
} from './index.ts';

function collect(records: readonly ProviderRecord[]): IndexBuilder {
  const builder = createIndexBuilder({ frequentRows: 20 });
  for (const record of records) builder.add(record);
  return builder;
}

function build(records: readonly ProviderRecord[]): SharedIndexBytes {
  return collect(records).finish();
}

function idsOf({ index, rows }: FoundPage): number[] {
  return Array.from(rows, (row) => index.record(row).id);
}

test('threads and the calling thread give the same pages', async () => {
  const records = randomDirectory(21, 600);
  const pool = createSearchPool({ threads: 2, heavyRows: 300 });
  await pool.swap(build(records));
  const random = seededRandom(4);
  const queries = Array.from({ length: 200 }, () => randomQuery(random, records));
  const pages = await Promise.all(queries.map((query) => pool.search(query)));
  for (const [at, page] of pages.entries()) {
    const expected = searchPlainly(records, queries[at] as (typeof queries)[number]);
    assert.equal(page.totalCount, expected.totalCount);
    assert.deepEqual(idsOf(page), expected.ids);
  }
  await pool.close();
});

test('a swap is over once a thread has warmed up; nobody waits for one that has not', async () => {
  const records = randomDirectory(25, 300);
  const pool = createSearchPool({ threads: 2, heavyRows: 0 });
  const swapping = pool.swap(build(records));
  const search = mock.method(pool.current as ProviderIndex, 'search');
  const query = {
    filters: [],
    sort: [{ field: 'city', isDescending: false }],
    offset: 0,
    limit: 10,
  } as const;
  const early = await pool.search(query);
  assert.equal(search.mock.callCount(), 1);
  await swapping;
  const later = await pool.search(query);
  assert.equal(search.mock.callCount(), 1);
  assert.deepEqual(idsOf(later), idsOf(early));
  await pool.close();
});

test('a thread that has started before the first index searches the first large one', async () => {
  const records = randomDirectory(26, 400);
  const pool = createSearchPool({ threads: 1, heavyRows: 350, expectsLarge: true });
  await pool.swap(build(records.slice(0, 10)));
  await pool.swap(build(records));
  const search = mock.method(pool.current as ProviderIndex, 'search');
  const query = { filters: [], sort: [], offset: 0, limit: 400 };
  const page = await pool.search(query);
  assert.equal(search.mock.callCount(), 0);
  assert.deepEqual(idsOf(page), searchPlainly(records, query).ids);
  await pool.close();
});

test('changes reach the threads, those that start later too', async () => {
  const records = randomDirectory(22, 300);
  const gone = records.slice(0, 20);
  const come = randomDirectory(23, 30).map((record) => ({ ...record, id: record.id + 10_000 }));
  const now = [...records.slice(20), ...come];
  const base = build(records);
  const pool = createSearchPool({ threads: 2, heavyRows: 0 });
  const query = {
    filters: [],
    sort: [{ field: 'city', isDescending: true }],
    offset: 0,
    limit: 400,
  } as const;
  const assertShows = async (shown: readonly ProviderRecord[]): Promise<void> => {
    const pages = await Promise.all([0, 1, 2].map((offset) => pool.search({ ...query, offset })));
    for (const [offset, page] of pages.entries())
      assert.deepEqual(idsOf(page), searchPlainly(shown, { ...query, offset }).ids);
    assert.equal(pool.current?.recordCount, shown.length);
  };
  await pool.swap(base);
  await assertShows(records);
  await pool.swap(base, { added: build(come), removed: build(gone) });
  await assertShows(now);
  await pool.swap(base, { added: build([]), removed: build(gone) });
  await assertShows(records.slice(20));
  await pool.swap(base);
  await assertShows(records);
  await pool.swap(build(now));
  await assertShows(now);
  await pool.close();
  const first = createSearchPool({ threads: 1, heavyRows: 0 });
  await first.swap(base, { added: build(come), removed: build(gone) });
  const { totalCount } = await first.search(query);
  assert.equal(totalCount, now.length);
  await first.close();
});

test('while loads are swapped in, every answer comes wholly from one of them', async () => {
  const loads = [100, 200, 300].map((count) => build(randomDirectory(count, count)));
  const counts = new Set([100, 200, 300]);
  const pool = createSearchPool({ threads: 2, heavyRows: 0 });
  await pool.swap(loads[0] as SharedIndexBytes);
  const answers: Promise<void>[] = [];
  for (let turn = 0; turn < 60; turn++) {
    const search = pool.search({
      filters: [],
      sort: [{ field: 'city', isDescending: turn % 2 === 0 }],
      offset: 0,
      limit: 1000,
    });
    answers.push(
      search.then((page) => {
        assert.ok(counts.has(page.totalCount));
        assert.equal(idsOf(page).length, page.totalCount);
      }),
    );
    if (turn % 3 === 0) void pool.swap(loads[(turn / 3) % 3] as SharedIndexBytes);
    if (turn % 7 === 0) await answers.at(-1);
  }
  await Promise.all(answers);
  assert.ok(pool.current !== undefined);
  await pool.close();
});

test('a page of many rows is made in a thread, however simple its query', async () => {
  const records = randomDirectory(24, 500);
  const pool = createSearchPool({ threads: 1, heavyRows: 400 });
  await pool.swap(build(records));
  const index = pool.current as ProviderIndex;
  const search = mock.method(index, 'search');
  const query = { filters: [], sort: [{ field: 'npi', isDescending: false }], offset: 0 } as const;
  await pool.search({ ...query, limit: 300 });
  assert.equal(search.mock.callCount(), 1);
  const page = await pool.search({ ...query, limit: 0xffff_ffff });
  assert.equal(search.mock.callCount(), 1);
  assert.deepEqual(idsOf(page), searchPlainly(records, { ...query, limit: 1000 }).ids);
  // What lies beyond the last page is not read.
  await pool.search({ ...query, offset: 450, limit: 1000 });
  assert.equal(search.mock.callCount(), 2);
  await pool.close();
});

test('a search after a swap never sees the load before', async () => {
  const pool = createSearchPool({ threads: 1, heavyRows: 0 });
  for (const count of [50, 80, 20]) {
    await pool.swap(build(randomDirectory(count, count)));
    const page = await pool.search({ filters: [], sort: [], offset: 0, limit: 10 });
    assert.equal(page.totalCount, count);
  }
  await pool.close();
});

test('without an index, before the first load or after closing, a search is refused', async () => {
  const pool = createSearchPool({ threads: 0 });
  const query = { filters: [], sort: [], offset: 0, limit: 1 };
  const isNotReady = (error: unknown): boolean =>
    error instanceof ProviderIndexError && error.code === 'INDEX_NOT_READY' && error.isTransient;
  await assert.rejects(pool.search(query), isNotReady);
  await pool.swap(build([]));
  assert.equal((await pool.search(query)).totalCount, 0);
  await pool.close();
  await assert.rejects(pool.search(query), isNotReady);
});

test('a faulty query is refused in a thread too', async () => {
  const pool = createSearchPool({ threads: 1, heavyRows: 0 });
  await pool.swap(build(randomDirectory(6, 60)));
  await assert.rejects(
    pool.search({ filters: [], sort: [], offset: -1, limit: 10 }),
    (error) => error instanceof ProviderIndexError && error.code === 'INDEX_QUERY_INVALID',
  );
  await pool.close();
});

test('an index built in two threads, or into a snapshot, is the same as one built in one', async () => {
  const records = randomDirectory(31, 400);
  const one = build(records);
  const two = await collect(records).finishInThreads();
  const folder = mkdtempSync(join(tmpdir(), 'openhisp-snapshot-'));
  after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));
  const file = join(folder, 'directory.idx');
  await collect(records).writeInThreads(file);
  await assert.rejects(collect(records).writeInThreads(join(folder, 'none', 'directory.idx')), {
    code: 'INDEX_SNAPSHOT_UNWRITABLE',
  });
  assert.deepEqual(readdirSync(folder), ['directory.idx']);
  const textOf = (bytes: SharedIndexBytes): string[] =>
    bytes.layout.arrays
      .map(
        ({ name }, position) =>
          `${name} ${Buffer.from(bytes.buffers[position] as SharedArrayBuffer).toString('base64')}`,
      )
      .sort();
  assert.deepEqual(textOf(two), textOf(one));
  assert.deepEqual(textOf(readSnapshot(file)), textOf(one));
});
