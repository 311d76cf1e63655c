import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../../test/support/fast-check.ts';
import { hashText } from './hash-text.ts';
import { KeyTable } from './key-table.ts';

test('a table holds every key that was added, however it grows, and no other', () => {
  const number = fc.integer({ min: 0, max: 0xffffffff });
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(number, number), { selector: String, maxLength: 3000, minLength: 1 }),
      (keys) => {
        const table = new KeyTable(1);
        for (const [index, [low, high]] of keys.entries())
          table.add(low, high, index + 1, index * 7, index % 2 === 0);
        assert.equal(table.size, keys.length);
        for (const [index, [low, high]] of keys.entries()) {
          const slot = table.find(low, high);
          assert.deepEqual(
            [table.idAt(slot), table.sumAt(slot), table.isSeenAt(slot)],
            [index + 1, index * 7, index % 2 === 0],
          );
        }
        const known = new Set(keys.map(String));
        for (const [low, high] of keys) {
          if (!known.has(String([high, low]))) assert.equal(table.find(high, low), -1);
        }
      },
    ),
    { numRuns: 20 },
  );
});

test('the hash of a text depends on each character, their order and the seed, and spreads evenly', () => {
  const hashOf = (text: string, seed = 1): string => {
    const out = { low: 0, high: 0 };
    hashText(text, seed, seed, out);
    return `${out.low}:${out.high}`;
  };
  assert.equal(hashOf('abc'), hashOf('abc'));
  assert.notEqual(hashOf('abc'), hashOf('abc', 2));
  const count = 200_000;
  const seen = new Set<string>();
  const lows = new Set<string | undefined>();
  for (let index = 0; index < count; index++) {
    const hash = hashOf(`a\tperson${index}@direct.example\t${1_000_000_000 + index}`);
    seen.add(hash);
    lows.add(hash.split(':')[0]);
  }
  assert.equal(seen.size, count);
  // A perfect 32-bit hash of 200,000 texts has about 4.7 collisions.
  assert.ok(count - lows.size < 20, `${count - lows.size} collisions in one half`);
});
