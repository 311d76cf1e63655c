import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadBuiltInGazetteer } from '../../lib/geo/index.ts';
import {
  findDirectAddress,
  hasNpiCheckDigit,
  parseNpi,
  parseZip,
  stateCodes,
} from '../../lib/values/index.ts';
import { generateProviders } from './sample-directory.ts';

const gazetteer = loadBuiltInGazetteer();
const records = [...generateProviders({ count: 12_000, seed: 1, gazetteer })];

test('the same seed gives the same records, another one others', () => {
  const again = [...generateProviders({ count: 50, seed: 1, gazetteer })];
  const other = [...generateProviders({ count: 50, seed: 2, gazetteer })];
  assert.deepEqual([...generateProviders({ count: 50, seed: 1, gazetteer })], again);
  assert.notDeepEqual(other, again);
});

test('ids count up and every record could be imported', () => {
  for (const [index, record] of records.entries()) {
    assert.equal(record.id, index + 1);
    assert.ok(findDirectAddress(record.directAddress) !== undefined, record.directAddress);
    assert.ok(record.directAddress.endsWith('.example'), record.directAddress);
    if (record.npi !== '') assert.ok(hasNpiCheckDigit(parseNpi(record.npi)), record.npi);
    parseZip(record.zip);
    assert.ok(stateCodes.has(record.state), record.state);
  }
});

test('the sample has the features of a real directory', () => {
  const share = (isSo: (record: (typeof records)[number]) => boolean): number =>
    records.filter(isSo).length / records.length;
  const blankNpi = share((record) => record.npi === '');
  assert.ok(blankNpi > 0.12 && blankNpi < 0.3, `${blankNpi}`);
  assert.ok(share((record) => record.firstName === '') > 0.05, 'departments');
  assert.ok(share((record) => record.zip.includes('-')) > 0.3, 'ZIP+4');
  assert.ok(share((record) => /^[\d.]+:/.test(record.specialty)) > 0.2, 'coded specialties');
  assert.ok(
    share((record) => record.specialty !== '' && !record.specialty.includes(':')) > 0.2,
    'free-text specialties',
  );
  assert.ok(
    records.some((record) => /[À-ž]/.test(record.lastName)),
    'accents',
  );
  assert.ok(
    records.some((record) => record.lastName.includes("'")),
    'apostrophes',
  );
  assert.ok(share((record) => record.latitude === undefined) > 0.005, 'some without coordinates');
  assert.ok(new Set(records.map((record) => record.state)).size >= 51);
});
