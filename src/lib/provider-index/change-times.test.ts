/**
 * Times of the last changes of records, persons, organizations and places, against plain arrays: in one
 * index, and in one with changes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pick, randomDirectory, randomRecord, seededRandom } from '../../../test/support/random-directory.ts';
import type { ProviderRecord } from '../provider-record/index.ts';
import { openSubIndex } from './open-index.ts';
import {
  createIndexBuilder,
  findEntities,
  hashOfEntity,
  openChangedIndex,
  type Distinct,
  type ProviderQuery,
  type SharedIndexBytes,
  type TimeRange,
} from './index.ts';

const seed = { low: 5, high: 6 };

function build(records: Iterable<ProviderRecord>): SharedIndexBytes {
  const builder = createIndexBuilder({ frequentRows: 8 });
  for (const record of records) builder.add(record);
  return builder.finish();
}

type Random = () => number;

function crowd(record: ProviderRecord, random: Random, changedAt: number | undefined): ProviderRecord {
  const { changedAt: _, ...rest } = record;
  return {
    ...rest,
    npi: pick(random, ['', '1000000004', '1000000012', '1500000009', record.npi]),
    organization: pick(random, ['', 'Alpha Clinic', 'Beta']),
    street: pick(random, ['', '1 Main St']),
    zip: pick(random, ['', '02114', '02114-1234']),
    city: pick(random, ['Boston', 'Salem']),
    state: '',
    ...(changedAt !== undefined && { changedAt }),
  };
}

const shapes = [
  { count: 0, changes: 0, isPlain: true },
  { count: 1, changes: 0, isPlain: false },
  { count: 60, changes: 0, isPlain: true },
  { count: 60, changes: 25, isPlain: true },
  { count: 300, changes: 0, isPlain: false },
  { count: 300, changes: 120, isPlain: false },
  { count: 300, changes: 500, isPlain: false },
];

for (const { count, changes, isPlain } of shapes) {
  test(`${count} records of ${isPlain ? 'one load' : 'several loads'} with ${changes} changes are found by their last change`, async () => {
    const random = seededRandom(count * 3 + changes + (isPlain ? 1 : 0));
    const times = { ownChange: 1000, earliestChange: pick(random, [0, 300]) };
    const before = randomDirectory(count + 1, count).map((record) =>
      crowd(record, random, isPlain ? undefined : pick(random, [undefined, 100, 200, 400, 1100])),
    );
    const now = new Map(before.map((record) => [record.id, record]));
    const [removed, added] = [new Map<number, ProviderRecord>(), new Map<number, ProviderRecord>()];
    for (let step = 0; step < changes; step++) {
      const old = random() < 0.7 ? pick(random, before) : undefined;
      if (old !== undefined) removed.set(old.id, old);
      const id = old?.id ?? Math.floor(random() * 5000) * 3;
      added.delete(id);
      now.delete(id);
      if (old !== undefined && random() < 0.4) continue;
      const record = crowd(old ?? randomRecord(random, id), random, pick(random, [1001, 1200]));
      added.set(id, record);
      now.set(id, record);
    }
    const base = openSubIndex(build(before), { times, shortResult: pick(random, [0, 4096]) });
    const index =
      changes === 0
        ? base.index
        : openChangedIndex(base, { added: build(added.values()), removed: build(removed.values()) });
    const entities = await findEntities(base.index, seed);
    const records = [...now.values()];
    const timeOf = ({ changedAt }: ProviderRecord): number =>
      Math.max(changedAt ?? times.ownChange, times.earliestChange);

    const keyOf = (kind: 'row' | Distinct['kind'], record: ProviderRecord): string | undefined => {
      if (kind === 'row') return `row ${record.id}`;
      if (kind === 'person') return record.lastName === '' ? undefined : record.npi || `id ${record.id}`;
      const hash = hashOfEntity(record, kind, seed);
      return hash === undefined ? undefined : `${hash.high} ${hash.low}`;
    };
    // Removed records count for organizations and places of which another record of the index is left.
    const timesOf = (kind: 'row' | Distinct['kind']): Map<string, number> => {
      const staying = new Set(
        before.filter(({ id }) => !removed.has(id)).map((record) => keyOf(kind, record)),
      );
      const counted = [...records];
      if (kind === 'organization' || kind === 'place')
        counted.push(...[...removed.values()].filter((record) => staying.has(keyOf(kind, record))));
      const latest = new Map<string, number>();
      for (const record of counted) {
        const key = keyOf(kind, record);
        if (key !== undefined) latest.set(key, Math.max(timeOf(record), latest.get(key) ?? 0));
      }
      return latest;
    };

    for (const kind of ['row', 'person', 'organization', 'place'] as const) {
      const latest = timesOf(kind);
      const distinct: Distinct | undefined =
        kind === 'row' ? undefined : kind === 'person' ? { kind } : { kind, entities };
      for (let round = 0; round < 60; round++) {
        const bound = (): number => pick(random, [0, 100, 101, 200, 301, 400, 1000, 1001, 1100, 1300]);
        const changed: TimeRange[] = [[bound(), bound()]];
        if (random() < 0.3) changed.push([bound(), Infinity]);
        const city = pick(random, ['', 'Bos', 'Sal']);
        const query: ProviderQuery = {
          filters: city === '' ? [] : [{ field: 'city', match: 'prefix', value: city }],
          ...(distinct && { distinct }),
          changed,
          sort: [],
          offset: 0,
          limit: 5000,
        };
        const expected = new Set<string>();
        for (const record of records) {
          const key = keyOf(kind, record);
          if (key === undefined || !record.city.startsWith(city)) continue;
          const time = latest.get(key) as number;
          if (changed.some(([from, end]) => time >= from && time < end)) expected.add(key);
        }
        const page = index.search(query);
        const found = Array.from(page.rows, (row) => keyOf(kind, index.record(row)));
        assert.equal(page.totalCount, expected.size, JSON.stringify([kind, changed, city]));
        assert.deepEqual(new Set(found), expected);
        for (const row of page.rows) {
          const key = keyOf(kind, index.record(row)) as string;
          assert.equal(index.changedAt(row, distinct), latest.get(key), `${kind} ${key}`);
        }
      }
    }
  });
}
