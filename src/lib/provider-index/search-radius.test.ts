import { searchFields, type ProviderRecord } from '../provider-record/index.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { searchPlainly } from '../../../test/support/plain-directory.ts';
import { pick, places, randomRecord, seededRandom } from '../../../test/support/random-directory.ts';
import { rounds } from '../../../test/support/rounds.ts';
import { distanceMiles, loadBuiltInGazetteer } from '../geo/index.ts';
import {
  createIndexBuilder,
  openIndex,
  type IndexBuilderOptions,
  type ProviderIndex,
  type ProviderQuery,
} from './index.ts';

const gazetteer = loadBuiltInGazetteer();

function build(
  records: readonly ProviderRecord[],
  options: IndexBuilderOptions,
  shortResult: number,
): ProviderIndex {
  const builder = createIndexBuilder({ frequentRows: 500, ...options });
  for (const record of records) builder.add(record);
  return openIndex(builder.finish(), { shortResult });
}

// Several records at one point, points all over the country and its territories, and some without
// coordinates.
function spreadRecords(count: number): ProviderRecord[] {
  const random = seededRandom(count);
  const zips = gazetteer.zipPlaces();
  return Array.from({ length: count }, (_, id) => {
    const { latitude: _latitude, longitude: _longitude, ...rest } = randomRecord(random, id);
    const point = pick(random, zips).point;
    const kind = random();
    if (kind < 0.1 || point === undefined) return rest;
    if (kind < 0.5) return { ...rest, ...point };
    const [latitude, longitude] = pick(random, places);
    return { ...rest, latitude, longitude };
  });
}

const records = spreadRecords(4000);
const index = build(records, {}, 30);
const idOfRow = Array.from({ length: records.length }, (_, row) => index.record(row).id);

function assertSame(
  query: Omit<ProviderQuery, 'filters'> & Partial<Pick<ProviderQuery, 'filters'>>,
  searched = index,
  all = records,
): void {
  const whole = { filters: [], ...query };
  const expected = searchPlainly(all, whole);
  const found = searched.search(whole);
  assert.equal(found.totalCount, expected.totalCount, JSON.stringify(query));
  assert.deepEqual(
    [...found.rows].map((row) => (all === records ? idOfRow[row] : searched.record(row).id)),
    expected.ids,
    JSON.stringify(query),
  );
  assert.deepEqual([...(found.distances ?? [])], expected.distances);
}

const centers: readonly (readonly [name: string, latitude: number, longitude: number])[] = [
  ['Austin', 30.2672, -97.7431],
  ['New York', 40.7128, -74.006],
  ['Attu, west of the antimeridian seen from the pole', 52.83, 173.17],
  ['Adak', 51.88, -176.658],
  ['the antimeridian itself', 52, 180],
  ['the antimeridian from the other side', 52, -180],
  ['Honolulu', 21.3069, -157.8583],
  ['San Juan', 18.4655, -66.1057],
  ['Hagåtña', 13.4757, 144.7489],
  ['Saipan', 15.1778, 145.751],
  ['Pago Pago', -14.2756, -170.702],
  ['the North Pole', 90, 0],
  ['the South Pole', -90, 100],
];

for (const [name, latitude, longitude] of centers) {
  test(`circles around ${name} equal a brute-force great-circle computation`, () => {
    for (const miles of [0, 1, 5, 25, 60, 250, 999, 1000, 13_000]) {
      for (const isDescending of [false, true]) {
        for (const offset of [0, 7, 500].slice(0, rounds(3, 2))) {
          assertSame({
            radius: { latitude, longitude, miles },
            sort: [{ field: 'distance', isDescending }],
            offset,
            limit: 25,
          });
        }
      }
    }
  });
}

// From 128 rows on they are counted by sections.
const sectioned = build(records, { sectionRows: 60 }, 2);

for (const field of searchFields)
  test(`circles in the order of ${field} equal a plain sort, on every page`, () => {
    const random = seededRandom(field.length);
    const seconds = ['distance', 'lastName', 'state', 'directAddress', undefined] as const;
    for (let count = 0; count < rounds(8, 2); count++) {
      const [, latitude, longitude] = pick(random, centers);
      const radius = { latitude, longitude, miles: pick(random, [25, 250, 999, 3000, 13_000]) };
      const second = pick(random, seconds);
      const isDescending = random() < 0.5;
      const sort = [
        { field, isDescending },
        ...(second === undefined ? [] : [{ field: second, isDescending: random() < 0.5 }]),
      ];
      const { totalCount } = sectioned.search({ filters: [], radius, sort, offset: 0, limit: 0 });
      for (const offset of [0, Math.floor(random() * totalCount), Math.max(0, totalCount - 11), totalCount])
        for (const limit of [1, 10, 700]) assertSame({ radius, sort, offset, limit }, sectioned);
    }
  });

test('sections count the rows of a cell in each run of groups', () => {
  const { layout } = sectioned.bytes;
  const names = layout.arrays.map(({ name }) => name);
  for (const field of searchFields) {
    const column = field === 'directAddress' ? 'addressLocal' : field;
    assert.equal(names.includes(`${column}.sections.counts`), field !== 'npi', field);
  }
  assert.ok(!index.bytes.layout.arrays.some(({ name }) => name.includes('sections')));
});

test('rows at one point and at equal distances are in the order of the next keys', () => {
  const center = { latitude: 40, longitude: -100 };
  // East and west of the center, equally far from it.
  const points = [-101, -99, -100].map((longitude) => ({ latitude: 40, longitude }));
  const random = seededRandom(12);
  const many = Array.from({ length: 600 }, (_, id) => ({
    ...randomRecord(random, id * 7),
    ...pick(random, points),
  }));
  const own = build(many, {}, 4);
  for (const isDescending of [false, true])
    for (const next of [[], [{ field: 'city', isDescending: !isDescending }] as const])
      for (let offset = 0; offset < 600; offset += 23)
        assertSame(
          {
            radius: { ...center, miles: 300 },
            sort: [{ field: 'distance', isDescending }, ...next],
            offset,
            limit: 50,
          },
          own,
          many,
        );
});

// Nearly every record at a point of its own, and many at one.
test('filters in circles over street addresses equal a plain search, on every page', () => {
  const random = seededRandom(31);
  const crowd = { latitude: 40.01, longitude: -100.01 };
  const town = (): number => (random() - 0.5) * 2 * random() ** 2;
  const many = Array.from({ length: 3000 }, (_, id) => {
    const { latitude: _latitude, longitude: _longitude, ...rest } = randomRecord(random, id);
    if (random() < 0.02) return rest;
    const own = { latitude: 40 + town() * pick(random, [0.1, 3]), longitude: -100 + town() };
    return { ...rest, ...(random() < 0.2 ? crowd : own) };
  });
  const own = build(many, { sectionRows: 60 }, 4);
  const filters = [
    [],
    [{ field: 'lastName', match: 'prefix', value: 's' }],
    [{ field: 'street', match: 'contains', value: '1' }],
    [{ field: 'state', match: 'prefix', value: 't' }],
  ] as const;
  for (let count = 0; count < rounds(120, 40); count++) {
    const [latitude, longitude] = [40 + town(), -100 + town()];
    const radius = { latitude, longitude, miles: pick(random, [1, 10, 40, 120, 400]) };
    const chosen = pick(random, filters);
    const field = pick(random, ['distance', 'distance', 'city'] as const);
    const sort = [{ field, isDescending: random() < 0.5 }];
    const { totalCount } = own.search({ filters: chosen, radius, sort, offset: 0, limit: 0 });
    for (const offset of [0, Math.floor(random() * totalCount), Math.max(0, totalCount - 9)])
      assertSame({ filters: chosen, radius, sort, offset, limit: pick(random, [1, 10, 300]) }, own, many);
  }
});

test('a record exactly on the edge is inside, one a hair beyond is not', () => {
  const random = seededRandom(99);
  for (let count = 0; count < 300; count++) {
    const [, latitude, longitude] = pick(random, centers);
    const record = pick(random, records);
    if (record.latitude === undefined || record.longitude === undefined) continue;
    const exact = distanceMiles(
      { latitude, longitude },
      { latitude: record.latitude, longitude: record.longitude },
    );
    const has = (miles: number): boolean => {
      const found = index.search({
        filters: [],
        radius: { latitude, longitude, miles },
        sort: [],
        offset: 0,
        limit: records.length,
      });
      return found.rows.some((row) => idOfRow[row] === record.id);
    };
    assert.ok(has(exact));
    if (exact > 0) assert.ok(!has(exact * (1 - Number.EPSILON)));
  }
});

test('records without coordinates are never in a circle', () => {
  const located = records.filter((record) => record.latitude !== undefined).length;
  assert.ok(located < records.length);
  const found = index.search({
    filters: [],
    radius: { latitude: 0, longitude: 0, miles: 20_000 },
    sort: [],
    offset: 0,
    limit: 1,
  });
  assert.equal(found.totalCount, located);
});

test('pages of a radius search neither overlap nor skip', () => {
  const radius = { latitude: 40.7128, longitude: -74.006, miles: 1000 };
  const seen: number[] = [];
  for (let offset = 0; ; offset += 37) {
    const { rows, totalCount } = index.search({ filters: [], radius, sort: [], offset, limit: 37 });
    seen.push(...rows);
    if (offset + 37 >= totalCount) break;
  }
  assert.equal(new Set(seen).size, seen.length);
  assert.equal(seen.length, index.search({ filters: [], radius, sort: [], offset: 0, limit: 0 }).totalCount);
});
