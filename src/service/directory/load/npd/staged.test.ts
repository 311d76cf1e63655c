import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Column } from './columns.ts';
import { IdTable, PairTable } from './id-table.ts';
import { TextStore } from './text-store.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-npd-'));
after(() => rmSync(folder, { recursive: true }));

test('texts of any length are read again, from memory and from the file', () => {
  const store = new TextStore(folder);
  assert.deepEqual(readdirSync(folder), [], 'the file has no name');
  const texts = Array.from({ length: 3000 }, (_, at) => 'Zoë\t'.repeat((at * at) % 1500) + at);
  const places = texts.map((text) => store.add(text));
  assert.equal(new Set([0, ...places]).size, texts.length + 1, 'each has a place, and none is 0');
  for (const at of [...places.keys()].toReversed()) assert.equal(store.read(places[at] ?? 0), texts[at]);
  const empty = store.add('');
  assert.equal(store.read(empty), '');
  assert.equal(store.read(0), '');
  assert.throws(() => store.add('x'.repeat(2_000_000)), RangeError);
  store.close();
});

test('columns grow, hold places beyond 32 bits, and read 0 where nothing was written', () => {
  const [small, large] = [new Column(), new Column('f64')];
  for (let at = 0; at < 10_000; at += 3) {
    small.set(at, at + 1);
    large.set(at, 2 ** 40 + at);
  }
  assert.deepEqual([small.get(9999), small.get(9998), small.get(20_000)], [10_000, 0, 0]);
  assert.deepEqual([large.get(9999), large.get(9998), large.get(20_000)], [2 ** 40 + 9999, 0, 0]);
});

test('ids and pairs are numbered in the order in which they come', () => {
  const ids = new IdTable({ low: 1, high: 2 });
  const pairs = new PairTable();
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 20_000; at++) {
      assert.equal(ids.add(`Practitioner-${at}`), at);
      assert.equal(pairs.add(at % 200, Math.floor(at / 200)), at);
    }
  }
  assert.deepEqual([ids.size, pairs.size], [20_000, 20_000]);
  assert.deepEqual([ids.find('Practitioner-7'), ids.find('Practitioner-x')], [7, -1]);
});
