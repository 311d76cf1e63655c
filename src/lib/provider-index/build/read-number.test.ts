import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../../test/support/fast-check.ts';
import { readNumber } from './read-number.ts';

function read(text: string): number | undefined {
  const bytes = Buffer.from(`1${text}9`);
  return readNumber(bytes, 1, bytes.length - 1);
}

test('decimal digits give the nearest double, as Number does, in every notation of it', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.ok(Object.is(read(String(value)), Number(String(value))));
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: -1_800_000_000, max: 1_800_000_000 }), (value) => {
      assert.equal(read(String(value / 1e7)), value / 1e7);
    }),
  );
});

test('an empty text is undefined, and an invalid number is NaN', () => {
  assert.equal(read(''), undefined);
  for (const text of [' ', '-', '.', '1.2.3', 'x', '1-2', '--1']) assert.ok(Number.isNaN(read(text)), text);
});
