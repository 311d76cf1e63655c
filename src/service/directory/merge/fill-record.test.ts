import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textFields } from '../../../lib/provider-record/index.ts';
import { fillRecord } from './fill-record.ts';

test('every field of the table is filled from another source, but for the address', () => {
  const blank = [...textFields, 'latitude', 'longitude'].map(() => '').join('\t');
  const full = [...textFields, '42', '-71'].join('\t');
  const { line, origins } = fillRecord([blank, full]);
  const left = textFields.filter((_, at) => origins[at] === -1);
  assert.deepEqual(left, ['directAddress']);
  assert.deepEqual(line.split('\t').slice(-2), ['42', '-71']);
});
