import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createArrayReader, createArrayStore } from '../arrays.ts';
import { createBitsPool } from '../intersect.ts';
import { countBits, wordCount } from '../bits.ts';
import { openKeptSets } from '../kept-sets.ts';
import { buildColumn } from './build-column.ts';
import { buildFrequentTexts } from './build-frequent-texts.ts';

// More groups than a sample has, some of them with many rows.
const recordCount = 150_000;
const kinds = ['Clinic', 'Clinique', 'Hospital', 'Family Medicine', 'Señora Health', 'Ärzte'];

function nameOf(record: number): string {
  if (record % 10 === 3) return `Heavy ${record % 3}`;
  return `${record * 7919} ${kinds[record % 31] ?? 'Office'} ${record % 5 === 0 ? 'North' : 'South'}`;
}

function buildNames() {
  const names = Array.from({ length: recordCount }, (_, record) => nameOf(record));
  const distinct = [...new Set(names)];
  const numberOf = new Map(distinct.map((name, number) => [name, number]));
  const texts = distinct.map((name) => Buffer.from(name));
  const offsets = new Uint32Array(texts.length + 1);
  for (const [index, text] of texts.entries()) offsets[index + 1] = (offsets[index] as number) + text.length;
  const rows = Uint32Array.from(names.keys());
  const store = createArrayStore();
  const column = buildColumn(
    {
      name: 'organization',
      values: { bytes: Buffer.concat(texts), offsets, count: texts.length },
      valueOfRecord: Uint32Array.from(names, (name) => numberOf.get(name) as number),
      recordOfRow: rows,
      sequence: rows,
    },
    store,
  );
  return { names, column, store };
}

test('texts are chosen by a sample; the rows of each are those of all groups', () => {
  const { names, column, store } = buildNames();
  assert.ok(column.groupCount > 120_000);
  buildFrequentTexts(column, 1, store);
  const arrays = createArrayReader(store.finish(recordCount));
  const sets = openKeptSets(
    'organization.frequent',
    recordCount,
    arrays,
    createBitsPool(wordCount(recordCount)),
  );
  const bytes = Buffer.from(arrays.get('organization.frequent.texts', 'u8'));
  const folded = names.map((name) =>
    Buffer.from(name.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '')),
  );
  const kept = new Map<string, number>();
  let position = 0;
  for (const set of arrays.get('organization.frequent.sets', 'u32')) {
    const end = position + 1 + (bytes[position] as number);
    kept.set(bytes.toString('utf8', position + 1, end), set);
    position = end;
  }
  assert.ok(kept.size > 100);
  for (const text of ['north', 'h', 'clini', 'hospital', 'family medicine', 'senora', 'heavy 2', ' ', '11'])
    assert.ok(kept.has(text), text);
  for (const [text, set] of [...kept].filter((_, index) => index % 23 === 0)) {
    const expected = folded.filter((name) => name.includes(text)).length;
    assert.ok(expected >= recordCount * 0.0199, `${text}: ${expected} rows`);
    assert.equal(sets[set]?.count, expected, text);
    assert.equal(countBits(sets[set]?.read() ?? new Uint32Array()), expected, text);
  }
});
