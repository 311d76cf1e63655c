import assert from 'node:assert/strict';
import test from 'node:test';
import { fc } from '../../../../test/support/fast-check.ts';
import { BlockLookup, findBucket, hasLookup, readBucket } from './block-lookup.ts';

const hash = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const blocksOfHashes = fc.array(fc.array(hash, { maxLength: 40 }), { minLength: 2, maxLength: 70 });

test('finds every block of a hash, in ascending order, and few others', () => {
  fc.assert(
    fc.property(blocksOfHashes, (blocks) => {
      const lookup = new BlockLookup();
      for (const hashes of blocks) {
        for (const low of hashes) lookup.add(low);
        lookup.endBlock();
      }
      const buckets = [...lookup.pack()];
      for (const low of blocks.flat()) {
        const bucket = buckets[findBucket(low, blocks.length)];
        assert.ok(bucket !== undefined);
        const sameMark = (other: number): boolean =>
          (other & 0xffff) === (low & 0xffff) &&
          findBucket(other, blocks.length) === findBucket(low, blocks.length);
        const expected = [...blocks.keys()].filter((block) => blocks[block]?.some(sameMark));
        assert.deepEqual(readBucket(bucket, low), expected);
      }
    }),
  );
});

test('a load of one block has none, nor has one of more blocks than its numbers can name', () => {
  const lookup = new BlockLookup();
  lookup.add(1);
  lookup.endBlock();
  assert.deepEqual([...lookup.pack()], []);
  assert.deepEqual([0, 1, 2, 65_536, 65_537].map(hasLookup), [false, false, true, true, false]);
});

test('takes less than 2.5 bytes for an entry', () => {
  const lookup = new BlockLookup();
  const blockCount = 64;
  let low = 1;
  for (let block = 0; block < blockCount; block++) {
    for (let entry = 0; entry < 4096; entry++) {
      low = (Math.imul(low, 1_664_525) + 1_013_904_223) >>> 0;
      lookup.add(low ^ (low >>> 16));
    }
    lookup.endBlock();
  }
  const bytes = [...lookup.pack()].reduce((sum, { length }) => sum + length, 0);
  assert.ok(bytes < blockCount * 4096 * 2.5, `${bytes} bytes`);
});
