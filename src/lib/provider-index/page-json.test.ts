import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomDirectory } from '../../../test/support/random-directory.ts';
import { roundUpMiles } from '../geo/index.ts';
import { createIndexBuilder, openIndex, type ProviderIndex, type ProviderRecord } from './index.ts';

function buildIndex(records: readonly ProviderRecord[]): ProviderIndex {
  const builder = createIndexBuilder();
  for (const record of records) builder.add(record);
  return openIndex(builder.finish());
}

// Directory spec: Provider record, in its order.
function wireRecord(record: ProviderRecord, distance?: number): Record<string, unknown> {
  return {
    id: record.id,
    prov_npi: record.npi,
    prov_first_name: record.firstName,
    prov_mid_name: record.middleName,
    prov_last_name: record.lastName,
    prov_suffix: record.suffix,
    serv_direct_addr: record.directAddress,
    org_name: record.organization,
    prov_spec_text: record.specialty,
    org_addr_1: record.street,
    org_city: record.city,
    org_state: record.state,
    org_zip: record.zip,
    org_phone: record.phone,
    lat: record.latitude ?? null,
    lng: record.longitude ?? null,
    ...(distance === undefined ? {} : { distance: roundUpMiles(distance) }),
  };
}

test('a page is the very text that JSON.stringify writes', () => {
  const records = randomDirectory(7, 400);
  const index = buildIndex(records);
  const byId = new Map(records.map((record) => [record.id, record]));
  const all = index.search({ filters: [], sort: [], offset: 0, limit: 1000 });
  const expected = [...all.rows].map((row) => wireRecord(byId.get(index.record(row).id) as ProviderRecord));
  assert.equal(Buffer.from(index.writePageJson(all)).toString(), JSON.stringify(expected));
});

test('with a radius every record ends in its distance, rounded up', () => {
  const records = randomDirectory(8, 400);
  const index = buildIndex(records);
  const found = index.search({
    filters: [],
    radius: { latitude: 30.2672, longitude: -97.7431, miles: 300 },
    sort: [],
    offset: 3,
    limit: 50,
  });
  const page = JSON.parse(Buffer.from(index.writePageJson(found)).toString()) as Record<string, unknown>[];
  assert.ok(page.length > 5);
  for (const [at, entry] of page.entries()) {
    assert.equal(Object.keys(entry).at(-1), 'distance');
    assert.equal(entry['distance'], roundUpMiles(found.distances?.[at] ?? Number.NaN));
  }
});

test('ids, places and text around a page of every kind', () => {
  const [template] = randomDirectory(3, 1) as [ProviderRecord];
  const ids = [1, 9, 10, 99, 100, 1_234_567_890, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 40 + 1];
  const records = ids.map((id, index) => ({
    ...template,
    id,
    lastName: 'Öztürk "Ö"'.slice(0, index),
    phone: '5'.repeat(index),
    latitude: index / 7,
    longitude: -index / 3,
  }));
  const index = buildIndex(records);
  const { rows } = index.search({ filters: [], sort: [], offset: 0, limit: 100 });
  const json = Buffer.from(index.writePageJson({ rows }, { before: '{"a":', after: '}' })).toString();
  const expected = [...rows].map((row) => wireRecord(index.record(row)));
  assert.equal(json, JSON.stringify({ a: expected }));
  assert.deepEqual(
    expected.map((entry) => entry['id']).toSorted((a, b) => Number(a) - Number(b)),
    ids,
  );
});

test('a page without records is an empty array', () => {
  const index = buildIndex([]);
  assert.equal(Buffer.from(index.writePageJson({ rows: new Uint32Array(0) })).toString(), '[]');
});

test('a record comes out as it was put in', () => {
  const records = randomDirectory(9, 300);
  const index = buildIndex(records);
  const out = Array.from({ length: index.recordCount }, (_, row) => index.record(row)).sort(
    (a, b) => a.id - b.id,
  );
  assert.deepEqual(
    out,
    records.toSorted((a, b) => a.id - b.id),
  );
});

test('all records of one NPI are found, by id', () => {
  const records = randomDirectory(10, 300);
  const index = buildIndex(records);
  for (const npi of new Set(records.map((record) => record.npi))) {
    const expected =
      npi === '' ? [] : records.filter((record) => record.npi === npi).map((record) => record.id);
    assert.deepEqual(
      [...index.findByNpi(npi)].map((row) => index.record(row).id),
      expected.sort((a, b) => a - b),
    );
  }
  assert.equal(index.findByNpi('9999999999').length, 0);
});
