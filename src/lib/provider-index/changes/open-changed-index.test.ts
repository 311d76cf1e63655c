import type { ProviderRecord } from '../../provider-record/index.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  pick,
  randomDirectory,
  randomQuery,
  randomRecord,
  seededRandom,
} from '../../../../test/support/random-directory.ts';
import { rounds } from '../../../../test/support/rounds.ts';
import { writeJson } from '../../../../test/support/record-format.ts';
import {
  createIndexBuilder,
  openChangedIndex,
  openIndex,
  type ProviderIndex,
  type ProviderQuery,
  type SharedIndexBytes,
} from '../index.ts';
import { openSubIndex } from '../open-index.ts';

type Random = () => number;

function build(records: Iterable<ProviderRecord>): SharedIndexBytes {
  const builder = createIndexBuilder({ frequentRows: 8 });
  for (const record of records) builder.add(record);
  return builder.finish();
}

interface Changed {
  readonly merged: ProviderIndex;
  readonly rebuilt: ProviderIndex;
  readonly records: readonly ProviderRecord[];
}

/** Removes, changes and adds `count` records; ids of added ones lie between and behind the others. */
function change(
  random: Random,
  records: readonly ProviderRecord[],
  count: number,
  shortResult: number,
): Changed {
  const now = new Map(records.map((record) => [record.id, record]));
  const removed = new Map<number, ProviderRecord>();
  const added = new Map<number, ProviderRecord>();
  // In some directories hardly anything is added, in others hardly anything goes.
  const goneShare = pick(random, [0.05, 0.4, 1]);
  const oldShare = pick(random, [0.3, 0.8, 1]);
  for (let step = 0; step < count; step++) {
    const old = records.length > 0 && random() < oldShare ? pick(random, records) : undefined;
    if (old !== undefined) removed.set(old.id, old);
    const id = old?.id ?? Math.floor(random() * (records.length + 10)) * 3;
    added.delete(id);
    now.delete(id);
    if (old !== undefined && random() < goneShare) continue;
    const record = changedRecord(random, old, id);
    added.set(id, record);
    now.set(id, record);
  }
  const options = { shortResult };
  const base = openSubIndex(build(records), options);
  const merged = openChangedIndex(base, { added: build(added.values()), removed: build(removed.values()) });
  return { merged, rebuilt: openIndex(build(now.values()), options), records: [...now.values()] };
}

// Often one field alone differs, so that a record moves a little or not at all.
function changedRecord(random: Random, old: ProviderRecord | undefined, id: number): ProviderRecord {
  const other = randomRecord(random, id);
  if (old === undefined || random() < 0.3) return other;
  return random() < 0.5 ? { ...old, lastName: other.lastName } : { ...old, npi: other.npi, city: other.city };
}

function pageText(index: ProviderIndex, query: ProviderQuery): string {
  const page = index.search(query);
  return `${page.totalCount} ${writeJson(index, page)}`;
}

const shapes: readonly (readonly [records: number, changes: number, shortResult: number, rounds: number])[] =
  [
    [0, 5, 4096, 20],
    [1, 3, 4096, 40],
    [40, 10, 0, 40],
    [40, 120, 4096, 40],
    [600, 1, 4, 20],
    [600, 60, 4096, 20],
    [600, 400, 4, 20],
    [3000, 200, 40, 6],
    [3000, 2500, 4096, 4],
  ];

for (const [recordCount, changeCount, shortResult, all] of shapes) {
  test(`${recordCount} records and ${changeCount} changes answer as an index built again (short results up to ${shortResult})`, () => {
    const random = seededRandom(recordCount * 7 + changeCount + shortResult);
    for (let round = 0; round < rounds(all); round++) {
      const before = randomDirectory(round + recordCount, recordCount);
      const { merged, rebuilt, records } = change(random, before, changeCount, shortResult);
      assert.equal(merged.recordCount, rebuilt.recordCount);
      for (let count = 0; count < 60; count++) {
        const query = randomQuery(random, records);
        assert.equal(pageText(merged, query), pageText(rebuilt, query), JSON.stringify(query));
      }
    }
  });
}

test('pages through all results neither overlap nor skip', () => {
  const random = seededRandom(5);
  const { merged, rebuilt } = change(random, randomDirectory(9, 500), 150, 4096);
  const sort = [{ field: 'lastName', isDescending: true }] as const;
  const ids: number[] = [];
  for (let offset = 0; offset < rebuilt.recordCount; offset += 7) {
    const { rows } = merged.search({ filters: [], sort, offset, limit: 7 });
    for (const row of rows) ids.push(merged.record(row).id);
  }
  const whole = rebuilt.search({ filters: [], sort, offset: 0, limit: rebuilt.recordCount });
  assert.deepEqual(
    ids,
    Array.from(whole.rows, (row) => rebuilt.record(row).id),
  );
});

test('the records of an NPI are those of an index built again', () => {
  const random = seededRandom(6);
  const { merged, rebuilt, records } = change(random, randomDirectory(10, 300), 100, 4096);
  for (const { npi } of records) {
    const [found, expected] = [merged, rebuilt].map((index) =>
      writeJson(index, { rows: index.findByNpi(npi) }),
    );
    assert.equal(found, expected);
    const rows = merged.findByNpi(npi);
    const names = new Set(Array.from(rows, (row) => merged.record(row).lastName));
    if (merged.haveSameTexts(rows, ['lastName'])) assert.ok(names.size < 2, npi);
  }
});

test('memory and cost count the changes in', () => {
  const { merged, rebuilt } = change(seededRandom(8), randomDirectory(11, 50), 10, 4096);
  const parts = merged.memory().map(({ part }) => part);
  assert.equal(parts.filter((part) => part === 'changes.rows.words').length, 2);
  const filters = [{ field: 'lastName', match: 'contains', value: 'a' }] as const;
  const query = { filters, sort: [], offset: 0, limit: 10 };
  assert.ok(merged.estimateCost(query) > rebuilt.estimateCost(query));
});
