import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIndexBuilder, openIndex } from '../../../lib/provider-index/index.ts';
import { providerFields } from '../../../lib/provider-record/index.ts';
import { addEntries, type Block, BlockWriter, readKeys, readLines } from './block.ts';
import { createRecordLayout, markLine, readMarkedLine } from './record-line.ts';

const line =
  '1000000004\tAna\tQ\tNúñez\tMD\tana@d.example\tClinic\tCardiology\t1 Main St\tBoston\tMA\t02114\t555\t\t\t42.5\t-71.25';

test('a block releases the keys, ids, check sums and lines that were put in', () => {
  const writer = new BlockWriter(2);
  writer.add(1, 0xffffffff, 7, 9, line);
  assert.equal(writer.isFull, false);
  writer.add(2, 3, 0, 0, '');
  assert.equal(writer.isFull, true);
  const block = writer.take();
  assert.ok(block);
  assert.deepEqual([...readKeys(block)], [1, 0xffffffff, 7, 9, 2, 3, 0, 0]);
  assert.deepEqual(readLines(block), [line, '']);
  assert.equal(writer.take(), undefined);
});

test('keys are read from any kind of buffer of a driver', () => {
  const writer = new BlockWriter(1);
  writer.add(5, 6, 7, 8, line);
  const block = writer.take();
  assert.ok(block);
  const shifted = new Uint8Array(block.keys.length + 1).subarray(1);
  shifted.set(block.keys);
  assert.deepEqual([...readKeys({ ...block, keys: shifted })], [5, 6, 7, 8]);
});

test('a line represents a record; without coordinates it has none', () => {
  const builder = createIndexBuilder();
  const writer = new BlockWriter(3);
  writer.add(1, 2, 7, 0, line);
  writer.add(3, 4, 0, 0, '');
  writer.add(5, 6, 8, 0, line.replace('42.5\t-71.25', '\t'));
  assert.equal(addEntries(builder, writer.take() as Block), 2);
  const index = openIndex(builder.finish());
  const record = index.record(0);
  assert.deepEqual(
    [record.id, record.lastName, record.phone, record.latitude, record.longitude],
    [7, 'Núñez', '555', 42.5, -71.25],
  );
  const placeless = index.record(1);
  assert.ok(!('latitude' in placeless) && !('longitude' in placeless));
});

const fax = { field: 'fax', since: 2 };
// A field that comes between the others, as one that is shown there would.
const grown = createRecordLayout([...providerFields.slice(0, 4), fax, ...providerFields.slice(4)]);
const upgraded = line.replace('Núñez\t', 'Núñez\t\t');

test('a block of today is read once a field was added, and never by a program that is older than it', () => {
  const writer = new BlockWriter(1);
  writer.add(1, 2, 3, 4, line);
  const block = writer.take();
  assert.ok(block);
  assert.deepEqual(readLines(block, grown), [upgraded]);
  const newer = { records: Buffer.concat([Buffer.of(2), block.records.subarray(1)]) };
  assert.throws(() => readLines(newer), /version 2/);
});

test('a hosted row is read once a field was added, and never by a program that is older than it', () => {
  assert.equal(readMarkedLine(markLine(line)), line);
  assert.equal(readMarkedLine(markLine(line), grown), upgraded);
  const blank = line.slice(10);
  assert.equal(readMarkedLine(markLine(blank)), blank);
  assert.equal(readMarkedLine(''), '');
  assert.throws(() => readMarkedLine(`v2\t${line}`), /version 2/);
  assert.throws(() => readMarkedLine(line), /no version/);
});
