import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createRecentMap } from './recent-map.ts';

const steps = fc.array(
  fc.record({
    what: fc.constantFrom('get', 'set', 'delete'),
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    weight: fc.integer({ min: 0, max: 12 }),
  }),
  { maxLength: 60 },
);

test('it keeps what a plain list in the order of use keeps, and tells of everything that leaves', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 0, max: 10 }), (list, room) => {
      const forgotten: number[] = [];
      const map = createRecentMap<number>(room, (value) => forgotten.push(value));
      let plain: { key: string; value: number; weight: number }[] = [];
      const gone: number[] = [];
      const taken = (): number => plain.reduce((sum, { weight }) => sum + weight, 0);
      for (const [value, { what, key, weight }] of list.entries()) {
        const known = plain.find((entry) => entry.key === key);
        plain = plain.filter((entry) => entry !== known);
        if (what === 'get') {
          assert.equal(map.get(key), known?.value);
          if (known !== undefined) plain.push(known);
        } else if (what === 'delete') {
          map.delete(key);
          if (known !== undefined) gone.push(known.value);
        } else {
          map.set(key, value, weight);
          if (known !== undefined) gone.push(known.value);
          if (weight > room) gone.push(value);
          else plain.push({ key, value, weight });
          while (taken() > room) gone.push(plain.shift()?.value ?? Number.NaN);
        }
        assert.equal(map.size, plain.length);
        assert.deepEqual(forgotten, gone);
      }
      for (const { key, value } of plain) assert.equal(map.get(key), value);
    }),
    { numRuns: 1000 },
  );
});

test('a value put again with another weight has not left', () => {
  const forgotten: string[] = [];
  const map = createRecentMap<string>(10, (value) => forgotten.push(value));
  map.set('a', 'one', 2);
  map.set('b', 'two', 2);
  map.set('a', 'one', 9);
  assert.deepEqual(forgotten, ['two']);
  assert.equal(map.get('a'), 'one');
});
