import { textFields, type ProviderRecord } from '../provider-record/index.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainFormat, writeJson } from '../../../test/support/record-format.ts';
import { randomDirectory, seededRandom } from '../../../test/support/random-directory.ts';
import { roundUpMiles } from '../geo/index.ts';
import {
  createIndexBuilder,
  hashOfEntity,
  keepText,
  openChangedIndex,
  openIndex,
  type EntityHash,
  type ProviderIndex,
  type RecordFormat,
  type SharedIndexBytes,
} from './index.ts';
import { openSubIndex } from './open-index.ts';

function buildBytes(records: readonly ProviderRecord[]): SharedIndexBytes {
  const builder = createIndexBuilder();
  for (const record of records) builder.add(record);
  return builder.finish();
}

const buildIndex = (records: readonly ProviderRecord[]): ProviderIndex => openIndex(buildBytes(records));

// As `plainFormat` writes it.
function plainRecord(record: ProviderRecord, distance?: number): Record<string, unknown> {
  const texts = textFields.map((field): [string, string] => [field, record[field]]);
  return {
    id: record.id,
    ...Object.fromEntries(texts),
    latitude: record.latitude ?? null,
    longitude: record.longitude ?? null,
    ...(distance === undefined ? {} : { distance: roundUpMiles(distance) }),
  };
}

test('a page is the very text that JSON.stringify writes', () => {
  const records = randomDirectory(7, 400);
  const index = buildIndex(records);
  const byId = new Map(records.map((record) => [record.id, record]));
  const all = index.search({ filters: [], sort: [], offset: 0, limit: 1000 });
  const expected = [...all.rows].map((row) => plainRecord(byId.get(index.record(row).id) as ProviderRecord));
  assert.equal(writeJson(index, all), JSON.stringify(expected));
});

test('no text loses its end, however many are escaped, in whatever order they came', () => {
  const [first] = randomDirectory(9, 1) as [ProviderRecord];
  for (const count of [100, 130, 160, 163])
    for (const escaped of [1, 3])
      for (const isLast of [true, false]) {
        const quoted = Array.from({ length: escaped }, (_, at) => `"${at}"${'\\'.repeat(20)}`);
        const plain = Array.from({ length: count }, (_, at) => `Clinic ${at} ${'x'.repeat(90)}`);
        const names = isLast ? [...plain, ...quoted] : [...quoted, ...plain];
        const records = names.map((organization, id) => ({ ...first, id, organization }));
        const index = buildIndex(records);
        const all = index.search({ filters: [], sort: [], offset: 0, limit: 1000 });
        const found = [...all.rows].map((row) => index.record(row));
        assert.deepEqual(
          found.map(({ id, organization }) => [id, organization]).sort(([a], [b]) => Number(a) - Number(b)),
          names.map((name, id) => [id, name]),
        );
      }
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
  const page = JSON.parse(writeJson(index, found)) as Record<string, unknown>[];
  assert.ok(page.length > 5);
  for (const [at, entry] of page.entries()) {
    assert.equal(Object.keys(entry).at(-1), 'distance');
    assert.equal(entry['distance'], roundUpMiles(found.distances?.[at] ?? Number.NaN));
  }
});

test('ids and places of every kind', () => {
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
  const json = writeJson(index, { rows });
  const expected = [...rows].map((row) => plainRecord(index.record(row)));
  assert.equal(json, JSON.stringify(expected));
  assert.deepEqual(
    expected.map((entry) => entry['id']).toSorted((a, b) => Number(a) - Number(b)),
    ids,
  );
});

test('coordinates are written as JavaScript writes numbers', () => {
  const [template] = randomDirectory(3, 1) as [ProviderRecord];
  const random = seededRandom(41);
  const places = [0, -0, 1e-7, -1e-7, 0.000001, -0.5, 7, -89.999999, 12.3456789, 1 / 3, 42.3601, 90, -71.05];
  for (let count = 0; count < 300; count++)
    places.push(Number(((random() - 0.5) * 180).toFixed(Math.floor(random() * 9))));
  const records = places.map((place, at) => ({
    ...template,
    id: at + 1,
    latitude: place,
    longitude: 2 * place,
  }));
  const index = buildIndex(records);
  const { rows } = index.search({ filters: [], sort: [], offset: 0, limit: 1000 });
  assert.equal(
    writeJson(index, { rows }),
    JSON.stringify([...rows].map((row) => plainRecord(index.record(row)))),
  );
  assert.deepEqual(
    [...rows].map((row) => index.record(row).latitude),
    places.map((place) => place + 0),
  );
});

test('one index writes several representations of a record', () => {
  const index = buildIndex(randomDirectory(12, 90));
  const contact: RecordFormat<string> = (pen) => {
    const [name, address] = [pen.field('lastName'), pen.field('directAddress')];
    return (at, prefix) => {
      pen.putText(`${prefix}${at}`);
      assert.equal(name.isBlank, name.text === '');
      name.put();
      pen.put(keepText('|'));
      assert.equal(address.isBlank, address.text === '');
      address.put();
    };
  };
  const page = index.search({ filters: [], sort: [], offset: 0, limit: 80 });
  const before = writeJson(index, page);
  const text = Buffer.from(index.writeRecords(page.rows, contact, 'Ä')).toString();
  const expected = Array.from(page.rows, (row, at) => {
    const { lastName, directAddress } = index.record(row);
    return `Ä${at}${JSON.stringify(lastName).slice(1, -1)}|${JSON.stringify(directAddress).slice(1, -1)}`;
  });
  assert.equal(text, expected.join(','));
  assert.equal(writeJson(index, page), before);
});

test('records far longer than the usual ones make the page grow, and envelopes surround it', () => {
  const records = randomDirectory(13, 70).map((record, at) => ({
    ...record,
    organization: `${'Ж"'.repeat(1500)}${at}`,
    id: 2 ** 33 + at,
  }));
  const [base, added] = [records.slice(0, 50), records.slice(50)];
  const changed = openChangedIndex(openSubIndex(buildBytes(base)), {
    added: buildBytes(added),
    removed: buildBytes([]),
  });
  const envelope = { before: Buffer.from('{"all":['), after: Buffer.from(']}') };
  const { rows } = changed.search({ filters: [], sort: [], offset: 0, limit: 100 });
  assert.equal(rows.length, 70);
  for (const page of [
    rows,
    rows.filter((row) => row < 50),
    rows.filter((row) => row >= 50),
    rows.subarray(0, 0),
  ]) {
    const text = Buffer.from(changed.writeRecords(page, plainFormat, { rows: page }, envelope)).toString();
    const all = [...page].map((row) => plainRecord(changed.record(row)));
    assert.equal(text, JSON.stringify({ all }));
    assert.deepEqual(
      changed.records(page).map(({ id }) => id),
      all.map(({ id }) => id),
    );
  }
});

test('hashes of entities are those of the texts, page after page', () => {
  const seed = { low: 11, high: 12 };
  const kinds = ['organization', 'place'] as const;
  const records = randomDirectory(5, 3000).map((record, at) => ({
    ...record,
    organization: at % 3 === 0 ? 'ÉCOLE "Ä"' : `Clinic ${at}`,
    street: at % 7 === 0 ? '' : `${at} Main St`,
  }));
  const index = buildIndex(records);
  const format: RecordFormat<undefined> = (pen) => {
    const entities = kinds.map((kind) => pen.entity(kind, seed));
    const [organization, street] = [pen.field('organization'), pen.field('street')];
    return () => {
      if (organization.isBlank || street.isBlank) return;
      for (const entity of [...entities, ...entities]) entity.put();
    };
  };
  const { rows } = index.search({ filters: [], sort: [], offset: 0, limit: records.length });
  for (const page of [rows, rows.toReversed(), rows.subarray(5, 70)]) {
    const text = Buffer.from(index.writeRecords(page, format, undefined)).toString();
    const expected = index.records(page).map((record) => {
      if (record.organization === '' || record.street === '') return '';
      return kinds
        .map((kind) => textOfHash(hashOfEntity(record, kind, seed) as EntityHash))
        .join('')
        .repeat(2);
    });
    assert.equal(text, expected.join(','));
  }
});

function textOfHash({ low, high }: EntityHash): string {
  return [high, low].map((half) => half.toString(16).padStart(8, '0')).join('');
}

test('a page without records is an empty array', () => {
  const index = buildIndex([]);
  assert.equal(writeJson(index, { rows: new Uint32Array(0) }), '[]');
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
