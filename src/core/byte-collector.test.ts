import assert from 'node:assert/strict';
import { test } from 'node:test';
import { releaseBytes } from './byte-collector.ts';

test('large bytes are released with all their views, small ones stay', () => {
  const large = Buffer.alloc(64 * 1024, 1);
  const view = large.subarray(10, 20);
  releaseBytes(large);
  assert.deepEqual([large.length, view.length], [0, 0]);
  // Again, as after a thread took the memory over.
  releaseBytes(large);
  const small = Buffer.from('shares its memory with other buffers');
  releaseBytes(small);
  assert.equal(small.toString(), 'shares its memory with other buffers');
});
