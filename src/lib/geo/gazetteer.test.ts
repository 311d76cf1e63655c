import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import {
  createGazetteer,
  distanceMiles,
  GeoError,
  geoErrors,
  loadBuiltInGazetteer,
  loadBuiltInZip,
} from './index.ts';

const gazetteer = loadBuiltInGazetteer();

function assertNear(
  point: { latitude: number; longitude: number } | undefined,
  latitude: number,
  longitude: number,
  miles: number,
): void {
  assert.ok(point !== undefined, 'the place is not known');
  assert.ok(distanceMiles(point, { latitude, longitude }) <= miles, `${point.latitude}, ${point.longitude}`);
}

test('the built-in gazetteer knows ZIP codes of every kind', () => {
  assert.ok(gazetteer.zipCount > 42_000);
  assertNear(gazetteer.findZip('78701'), 30.27, -97.74, 2);
  assertNear(gazetteer.findZip('78701-1234'), 30.27, -97.74, 2);
  assertNear(gazetteer.findZip('20500'), 38.9, -77.04, 3); // serves one building, no area
  assertNear(gazetteer.findZip('00901'), 18.47, -66.11, 3);
  assertNear(gazetteer.findZip('96910'), 13.47, 144.75, 5);
  assertNear(gazetteer.findZip('96950'), 15.18, 145.75, 10);
  assertNear(gazetteer.findZip('96799'), -14.28, -170.7, 10);
  assert.equal(gazetteer.findZip('00000'), undefined);
  assert.equal(gazetteer.findZip(''), undefined);
});

test('a ZIP code has its city and state, also without a point', () => {
  assert.equal(gazetteer.findZipPlace('02139')?.state, 'MA');
  const military = gazetteer.zipPlaces().filter((place) => ['AA', 'AE', 'AP'].includes(place.state));
  assert.ok(military.some((place) => place.point === undefined));
  assert.ok(gazetteer.zipPlaces().every((place) => place.point?.latitude !== 0));
});

test('cities are found under their usual spellings', () => {
  for (const name of ['Saint Louis', 'St. Louis', 'ST LOUIS', 'st louis'])
    assertNear(gazetteer.findCity(name, 'MO'), 38.63, -90.2, 5);
  for (const name of ['Fort Worth', 'Ft. Worth', 'ft worth'])
    assertNear(gazetteer.findCity(name, 'tx'), 32.75, -97.33, 6);
  assertNear(gazetteer.findCity('Mt Vernon', 'NY'), 40.91, -73.84, 3);
  for (const name of ['North Las Vegas', 'N. Las Vegas', 'N LAS VEGAS'])
    assertNear(gazetteer.findCity(name, 'NV'), 36.2, -115.12, 5);
  assertNear(gazetteer.findCity('E ST LOUIS', 'IL'), 38.62, -90.15, 5);
  assertNear(gazetteer.findCity('W Palm Bch', 'FL'), 26.71, -80.06, 5);
  assertNear(gazetteer.findCity('Shaker Hts', 'OH'), 41.47, -81.54, 5);
  for (const name of ['Colorado Springs', 'Colorado Spgs'])
    assertNear(gazetteer.findCity(name, 'CO'), 38.83, -104.82, 2);
  for (const name of ["Lee's Summit", 'Lees Summit', 'LEE S SUMMIT'])
    assertNear(gazetteer.findCity(name, 'MO'), 38.91, -94.38, 2);
  assert.equal(gazetteer.findCity('constructor', 'NV'), undefined);
  assertNear(gazetteer.findCity('New York', 'NY'), 40.71, -74.0, 6);
  assertNear(gazetteer.findCity('New York City', 'NY'), 40.71, -74.0, 6);
  assertNear(gazetteer.findCity('Washington', 'DC'), 38.9, -77.03, 5);
  assertNear(gazetteer.findCity('Mayagüez', 'PR'), 18.2, -67.14, 5);
  assertNear(gazetteer.findCity('mayaguez', 'PR'), 18.2, -67.14, 5);
});

test('the file lists each city once, so that no short form of a name counts instead of the name', () => {
  const packed = readFileSync(new URL('./data/us-places.csv.br', import.meta.url));
  const lines = brotliDecompressSync(packed).toString().split('\n');
  assert.equal(gazetteer.cityCount, lines.filter((line) => line.startsWith('city,')).length);
});

test('its places are few objects, since each garbage collection visits them all', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapBytes = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heapBytes();
  const kept = createGazetteer(readFileSync(new URL('./data/us-places.csv.br', import.meta.url)));
  const grown = heapBytes() - before;
  assert.ok(kept.zipCount > 0 && grown < 6_000_000, `${grown} bytes`);
});

test('one name in many states is distinguished by the state', () => {
  const states = ['IL', 'MA', 'MO', 'OH', 'OR', 'VT'];
  const points = states.map((state) => gazetteer.findCity('Springfield', state));
  assert.equal(new Set(points.map((point) => `${point?.latitude}`)).size, states.length);
  assert.equal(gazetteer.findCity('Springfield', 'ZZ'), undefined);
});

test('an Alaskan ZIP code lies at its town, not in the middle of its Census area', () => {
  const far = gazetteer
    .zipPlaces()
    .filter((place) => place.state === 'AK' && place.point !== undefined && place.city === 'Anchorage');
  for (const place of far) assertNear(place.point, 61.2, -149.9, 30);
});

test("an operator's file replaces it, as text or compressed", () => {
  const text =
    '# ours, 2026\nzip,99999,10.5,-20,Port St Jude,ZZ\nzip,99998,,,Apo,AE\ncity,Port St Jude,ZZ,10,-20\ncity,Port Saint Jude,ZZ,1,1\n';
  for (const bytes of [Buffer.from(text), brotliCompressSync(text)]) {
    const own = createGazetteer(bytes);
    assert.equal(own.source, 'ours, 2026');
    assert.deepEqual(own.findZip('99999'), { latitude: 10.5, longitude: -20 });
    assert.deepEqual(own.findZipPlace('99998'), { zip: '99998', city: 'Apo', state: 'AE' });
    assert.deepEqual(own.findCity('port saint jude', 'zz'), { latitude: 10, longitude: -20 });
  }
});

test('what the built-in gazetteer says about one ZIP code', () => {
  for (const zip of ['00501', '60601', '60601-1234', '99950', '00000', '09001', '6060', 'zip,6', ''])
    assert.deepEqual(loadBuiltInZip(zip).findZipPlace(zip), gazetteer.findZipPlace(zip), zip);
  assert.equal(loadBuiltInZip('60601').zipCount, 1);
});

for (const [why, text] of [
  ['no place at all', '# nothing\n'],
  ['an unknown kind', 'county,Travis,TX,1,1\n'],
  ['a ZIP code of four digits', 'zip,9999,1,1,A,TX\n'],
  ['a latitude over 90', 'zip,99999,91,1,A,TX\n'],
  ['a longitude that is no number', 'city,A,TX,1,west\n'],
  ['half a point', 'zip,99999,1,,A,TX\n'],
  ['a state of three letters', 'zip,99999,1,1,A,TEX\n'],
  ['a city without a state', 'city,A,,1,1\n'],
  ['other bytes', '\u0001\u0002'],
] as const) {
  test(`a gazetteer with ${why} is refused`, () => {
    assert.throws(
      () => createGazetteer(Buffer.from(text)),
      (error) => error instanceof GeoError && error.code in geoErrors,
    );
  });
}
