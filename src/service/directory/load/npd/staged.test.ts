import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Column } from './staging.ts';
import { IdTable, openScratch, PairTable, TextStore } from './scratch.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-npd-'));
const scratch = openScratch(folder);
after(() => {
  scratch.close();
  rmSync(folder, { recursive: true, maxRetries: 5 });
});

test('texts of any length are read again, from a file without a name', () => {
  assert.deepEqual(readdirSync(folder), []);
  const store = new TextStore(scratch);
  const texts = Array.from({ length: 3000 }, (_, at) => 'Zoë\t'.repeat((at * at) % 1500) + at);
  const places = texts.map((text) => store.add(text));
  assert.equal(new Set([0, ...places]).size, texts.length + 1, 'each has a place, and none is 0');
  for (const at of [...places.keys()].toReversed()) assert.equal(store.read(places[at] ?? 0), texts[at]);
  assert.deepEqual([store.read(store.add('')), store.read(0)], ['', '']);
});

test('a full disk is named', () => {
  const full = openScratch(folder);
  full.pragma('max_page_count = 20');
  const store = new TextStore(full);
  assert.throws(
    () => {
      for (;;) store.add('x'.repeat(1000));
    },
    { code: 'DIRECTORY_DISK_LOW' },
  );
  full.close();
});

test('columns grow, and read 0 where nothing was written', () => {
  const column = new Column();
  for (let at = 0; at < 10_000; at += 3) column.set(at, at + 1);
  assert.deepEqual([column.get(9999), column.get(9998), column.get(20_000)], [10_000, 0, 0]);
});

test('ids and pairs are numbered in the order in which they come', () => {
  const ids = new IdTable(scratch, 'ids');
  const pairs = new PairTable(scratch, 'pairs');
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 20_000; at++) {
      assert.equal(ids.add(`Practitioner-${at}`), at);
      assert.equal(pairs.add(at % 200, Math.floor(at / 200)), at);
    }
  }
  assert.deepEqual([ids.size, pairs.size], [20_000, 20_000]);
  assert.deepEqual([ids.find('Practitioner-7'), ids.find('Practitioner-x')], [7, -1]);
});
