import type { ProviderRecord } from '../provider-record/index.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { searchPlainly } from '../../../test/support/plain-directory.ts';
import { pick, places, randomRecord, seededRandom } from '../../../test/support/random-directory.ts';
import { distanceMiles, loadBuiltInGazetteer } from '../geo/index.ts';
import { createIndexBuilder, openIndex, type ProviderIndex, type ProviderQuery } from './index.ts';

const gazetteer = loadBuiltInGazetteer();

function buildIndex(records: readonly ProviderRecord[]): ProviderIndex {
  const builder = createIndexBuilder({ frequentRows: 500 });
  for (const record of records) builder.add(record);
  return openIndex(builder.finish(), { shortResult: 30 });
}

// Several records at one point, points all over the country and its territories, and some without coordinates.
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
const index = buildIndex(records);
const idOfRow = Array.from({ length: records.length }, (_, row) => index.record(row).id);

function assertSame(query: Omit<ProviderQuery, 'filters'>): void {
  const whole = { filters: [], ...query };
  const expected = searchPlainly(records, whole);
  const found = index.search(whole);
  assert.equal(found.totalCount, expected.totalCount, JSON.stringify(query));
  assert.deepEqual(
    [...found.rows].map((row) => idOfRow[row]),
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
        for (const offset of [0, 7, 500]) {
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
