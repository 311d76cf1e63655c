import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../support/fast-check.ts';
import { rounds } from '../support/rounds.ts';
import { checkCms, readSeeds } from './cms-target.ts';
import { mutate, structuralOffsets, withByte } from './mutate-cms.ts';

const seeds = readSeeds();
const good = seeds.filter(({ name }) => !name.startsWith('hostile'));

for (const { name, bytes } of good) {
  test(`${name}: a flipped bit at any structural position is never accepted as other content`, () => {
    assert.equal(checkCms(name, bytes), 'accepted');
    const codes = new Set<string>();
    for (const at of structuralOffsets(bytes)) {
      for (let bit = 0; bit < 8; bit += 1)
        codes.add(checkCms(name, withByte(bytes, at, (bytes[at] ?? 0) ^ (1 << bit))));
    }
    assert.ok(codes.has('SMIME_CMS_MALFORMED') && codes.size > 3, [...codes].join());
  });

  test(`${name}: cut off anywhere it is refused`, () => {
    for (let length = 0; length < bytes.length; length += 7) {
      assert.notEqual(checkCms(name, bytes.subarray(0, length)), 'accepted', `cut at ${length}`);
    }
  });
}

for (const { name, bytes } of seeds.filter((seed) => seed.name.startsWith('hostile'))) {
  test(`${name}: refused both as an envelope and as a signature`, () => {
    assert.notEqual(checkCms('enveloped', bytes), 'accepted');
    assert.notEqual(checkCms('signed-opaque', bytes), 'accepted');
  });
}

test('any random changes are refused, or change nothing that matters', () => {
  const indices = fc.array(fc.nat({ max: 0x7fff_ffff }), { minLength: 12, maxLength: 40 });
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.nat(good.length - 1), indices, (first, second, numbers) => {
      const seed = good[first];
      const other = good[second];
      assert.ok(seed !== undefined && other !== undefined);
      const rest = [...numbers];
      const pick = (limit: number) => (rest.shift() ?? 0) % limit;
      let bytes = seed.bytes;
      while (rest.length > 4) bytes = mutate(bytes, other.bytes, pick);
      checkCms(seed.name, bytes);
    }),
    { numRuns: rounds(1500) },
  );
});
