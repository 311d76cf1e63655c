/**
 * Persons, organizations and places against plain arrays: in one index, and in one with changes, in random
 * order of ids.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldText } from '../../../core/index.ts';
import { haversineMiles } from '../../geo/index.ts';
import { matchesPlainly } from '../../../../test/support/plain-directory.ts';
import {
  pick,
  randomDirectory,
  randomQuery,
  randomRecord,
  seededRandom,
} from '../../../../test/support/random-directory.ts';
import type { ProviderRecord } from '../../provider-record/index.ts';
import {
  createIndexBuilder,
  findEntities,
  hashOfEntity,
  openChangedIndex,
  type EntityKind,
  type ProviderIndex,
  type ProviderQuery,
  type SharedEntities,
  type SharedIndexBytes,
} from '../index.ts';
import { openSubIndex } from '../open-index.ts';

const seed = { low: 11, high: 12 };

interface World {
  readonly index: ProviderIndex;
  readonly entities: SharedEntities;
  readonly records: readonly ProviderRecord[];
}

function build(records: Iterable<ProviderRecord>): SharedIndexBytes {
  const builder = createIndexBuilder({ frequentRows: 8 });
  for (const record of records) builder.add(record);
  return builder.finish();
}

// Few places, so that many records share one.
function crowd(record: ProviderRecord, random: () => number): ProviderRecord {
  const organization = pick(random, ['', 'Alpha Clinic', 'ALPHA CLINIC', 'Beta']);
  const street = pick(random, ['', '1 Main St', '1 MAIN ST']);
  return {
    ...record,
    organization,
    street,
    zip: pick(random, ['', '02114', '02114-1234', '10001']),
    city: 'Boston',
    state: '',
  };
}

async function randomWorld(
  random: () => number,
  count: number,
  changes: number,
  shortResult: number,
): Promise<World> {
  const before = randomDirectory(count + changes, count).map((record) => crowd(record, random));
  const now = new Map(before.map((record) => [record.id, record]));
  const [removed, added] = [new Map<number, ProviderRecord>(), new Map<number, ProviderRecord>()];
  for (let step = 0; step < changes; step++) {
    const old = random() < 0.7 ? pick(random, before) : undefined;
    if (old !== undefined) removed.set(old.id, old);
    const id = old?.id ?? Math.floor(random() * 5000) * 3;
    added.delete(id);
    now.delete(id);
    if (old !== undefined && random() < 0.4) continue;
    const record = crowd(random() < 0.5 && old !== undefined ? old : randomRecord(random, id), random);
    added.set(id, record);
    now.set(id, record);
  }
  const bytes = build(before);
  const base = openSubIndex(bytes, { shortResult });
  const index =
    changes === 0
      ? base.index
      : openChangedIndex(base, { added: build(added.values()), removed: build(removed.values()) });
  return { index, entities: await findEntities(base.index, seed), records: [...now.values()] };
}

function keyOf(kind: EntityKind | 'person', record: ProviderRecord): string | undefined {
  if (kind === 'person') return record.lastName === '' ? undefined : record.npi || `id ${record.id}`;
  const hash = hashOfEntity(record, kind, seed);
  return hash === undefined ? undefined : `${hash.high} ${hash.low}`;
}

// By fields that all records of an entity have in common.
function entityQuery(
  kind: EntityKind,
  random: () => number,
  records: readonly ProviderRecord[],
): ProviderQuery {
  const { filters } = randomQuery(random, records);
  return {
    filters: filters.filter(
      ({ field }) => (kind === 'organization' && field === kind) || ['street', 'city'].includes(field),
    ),
    sort: [],
    offset: 0,
    limit: 5000,
  };
}

const shapes = [
  [1, 0, 4096],
  [40, 0, 4096],
  [40, 30, 4096],
  [600, 0, 0],
  [600, 1, 4],
  [600, 200, 4],
  [600, 600, 4096],
] as const;

for (const [count, changes, shortResult] of shapes) {
  test(`${count} records and ${changes} changes hold each person, organization and place once`, async () => {
    const random = seededRandom(count + changes * 3 + shortResult);
    const { index, entities, records } = await randomWorld(random, count, changes, shortResult);
    for (let round = 0; round < 60; round++) {
      for (const kind of ['person', 'organization', 'place'] as const) {
        const query =
          kind === 'person'
            ? { ...randomQuery(random, records), sort: [], offset: 0, limit: 5000 }
            : entityQuery(kind, random, records);
        const { radius: _, ...plain } = query as ProviderQuery;
        const distinct = kind === 'person' ? ({ kind } as const) : ({ kind, entities } as const);
        const matching = records.filter((record) =>
          plain.filters.every((filter) => matchesPlainly(record, filter)),
        );
        const expected = new Set(
          matching.map((record) => keyOf(kind, record)).filter((key) => key !== undefined),
        );
        const page = index.search({ ...plain, distinct });
        const found = Array.from(page.rows, (row) => keyOf(kind, index.record(row)));
        assert.equal(page.totalCount, expected.size, JSON.stringify([kind, plain]));
        assert.deepEqual(new Set(found), expected);
        assert.equal(new Set(found).size, found.length);
        const offset = Math.floor(random() * (found.length + 1));
        const part = index.search({ ...plain, distinct, offset, limit: 3 });
        assert.deepEqual([...part.rows], [...page.rows.subarray(offset, offset + 3)]);
      }
    }
    for (const record of records) {
      const row = index.findById(record.id);
      assert.deepEqual(index.record(row ?? -1), record);
      for (const kind of ['organization', 'place'] as const) {
        const hash = hashOfEntity(record, kind, seed);
        if (hash === undefined) continue;
        const stands = index.findEntity(kind, hash, entities);
        assert.equal(keyOf(kind, index.record(stands ?? -1)), keyOf(kind, record));
      }
    }
    assert.equal(index.findById(5), undefined);
    assert.equal(index.findEntity('place', { low: 1, high: 1 }, entities), undefined);
  });
}

test('each person of a rare name counts once among several records of one NPI', () => {
  const random = seededRandom(91);
  const [template] = randomDirectory(3, 1) as [ProviderRecord];
  const records = Array.from({ length: 12_000 }, (_, id) => ({
    ...template,
    id,
    npi: random() < 0.1 ? '' : String(1_000_000_000 + Math.floor(random() * 2500)),
    lastName: random() < 0.1 ? '' : `Name${pick(random, ['a', 'b', 'c', 'd'])}${Math.floor(random() * 10)}`,
    city: pick(random, ['Boston', 'Bath', 'Rome']),
  }));
  const { index } = openSubIndex(build(records), { shortResult: 0 });
  for (const filters of [
    [{ field: 'lastName', match: 'exact', value: 'Namea1' }],
    [{ field: 'lastName', match: 'prefix', value: 'nameb2' }],
    [
      { field: 'lastName', match: 'prefix', value: 'namec' },
      { field: 'city', match: 'prefix', value: 'b' },
    ],
    [
      { field: 'lastName', match: 'exact', value: 'named3' },
      { field: 'city', match: 'prefix', value: 'b' },
    ],
    [{ field: 'npi', match: 'exact', value: '1000000007' }],
  ] as const) {
    const matching = records.filter((record) => filters.every((filter) => matchesPlainly(record, filter)));
    const keys = matching.map((record) => keyOf('person', record)).filter((key) => key !== undefined);
    const page = { filters, sort: [], offset: 0, limit: 5000, distinct: { kind: 'person' } } as const;
    const { totalCount, rows } = index.search(page);
    assert.equal(totalCount, new Set(keys).size, JSON.stringify(filters));
    const found = Array.from(rows, (row) => keyOf('person', index.record(row)));
    assert.equal(found.length, totalCount);
    assert.deepEqual(new Set(found), new Set(keys));
  }
});

for (const [count, changes, shortResult] of shapes)
  test(`places of ${count} records and ${changes} changes are found around a point, the nearest first`, async () => {
    const random = seededRandom(count * 5 + changes + shortResult);
    const { index, entities } = await randomWorld(random, count, changes, shortResult);
    const page = { filters: [], sort: [], offset: 0, limit: 5000 };
    for (const kind of ['place', 'organization'] as const) {
      const distinct = { kind, entities } as const;
      const all = Array.from(index.search({ ...page, distinct }).rows, (row) => index.record(row));
      for (let round = 0; round < 40; round++) {
        const center = pick(random, [...all, { latitude: 42, longitude: -71 }]);
        const radius = {
          latitude: center.latitude ?? 42,
          longitude: center.longitude ?? -71,
          miles: pick(random, [0, 0.5, 5, 40, 400, 3000, 13_000]),
        };
        const milesTo = ({ latitude, longitude }: ProviderRecord): number =>
          latitude === undefined || longitude === undefined
            ? Infinity
            : haversineMiles(radius.latitude, radius.longitude, latitude, longitude);
        const expected = all
          .filter((record) => milesTo(record) <= radius.miles)
          .toSorted((a, b) => milesTo(a) - milesTo(b) || a.id - b.id);
        const found = index.search({ ...page, distinct, radius });
        assert.equal(found.totalCount, expected.length);
        assert.deepEqual(
          Array.from(found.rows, (row) => index.record(row).id),
          expected.map(({ id }) => id),
        );
        const offset = Math.floor(random() * (expected.length + 1));
        const part = index.search({ ...page, distinct, radius, offset, limit: 3 });
        assert.deepEqual([...part.rows], [...found.rows.subarray(offset, offset + 3)]);
      }
    }
  });

test('alternatives and ids narrow a search as a plain filter does', async () => {
  const random = seededRandom(77);
  const { index, records } = await randomWorld(random, 500, 120, 16);
  for (let round = 0; round < 100; round++) {
    const group = [1, 2].map(
      () =>
        ({
          field: pick(random, ['firstName', 'lastName', 'city'] as const),
          match: 'prefix',
          value: pick(random, ['s', 'm', 'o', 'bo', '']),
        }) as const,
    );
    const ids = random() < 0.5 ? records.slice(0, 40).map(({ id }) => id) : undefined;
    const expected = records.filter(
      (record) =>
        group.some((filter) => matchesPlainly(record, filter)) && (ids?.includes(record.id) ?? true),
    );
    const page = index.search({
      filters: [],
      alternatives: [group.map((filter) => [filter])],
      ...(ids && { ids }),
      sort: [],
      offset: 0,
      limit: 5000,
    });
    assert.deepEqual(
      new Set(Array.from(page.rows, (row) => index.record(row).id)),
      new Set(expected.map(({ id }) => id)),
    );
    assert.equal(page.totalCount, expected.length, foldText(JSON.stringify(group)));
  }
});
