import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlockWriter, readKeys, readLines, readRecord } from './block.ts';

const line =
  '1000000004\tAna\tQ\tNúñez\tMD\tana@d.example\tClinic\tCardiology\t1 Main St\tBoston\tMA\t02114\t555\t42.5\t-71.25';

test('a block gives back the keys, ids, check sums and lines that were put in', () => {
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

test('keys are read whatever memory a driver hands them over in', () => {
  const writer = new BlockWriter(1);
  writer.add(5, 6, 7, 8, line);
  const block = writer.take();
  assert.ok(block);
  const shifted = new Uint8Array(block.keys.length + 1).subarray(1);
  shifted.set(block.keys);
  assert.deepEqual([...readKeys({ ...block, keys: shifted })], [5, 6, 7, 8]);
});

test('a line stands for a record; without coordinates it has none', () => {
  const record = readRecord(7, line);
  assert.deepEqual(
    [record.id, record.lastName, record.phone, record.latitude, record.longitude],
    [7, 'Núñez', '555', 42.5, -71.25],
  );
  const placeless = readRecord(8, line.replace('42.5\t-71.25', '\t'));
  assert.ok(!('latitude' in placeless) && !('longitude' in placeless));
});
