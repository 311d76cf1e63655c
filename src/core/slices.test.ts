import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { fc } from '../../test/support/fast-check.ts';
import { hashInSlices, sliceBytes, slicesOf, sortInSlices } from './slices.ts';

const bytes = (maxLength: number): fc.Arbitrary<Uint8Array> =>
  fc.integer({ min: 0, max: maxLength }).map((length) => randomBytes(length));

test('slices are the bytes in order, none larger than asked, none empty', () => {
  fc.assert(
    fc.property(bytes(500), fc.integer({ min: 1, max: 100 }), (whole, size) => {
      const slices = [...slicesOf(whole, size)];
      assert.ok(slices.every((slice) => slice.length > 0 && slice.length <= size));
      assert.equal(slices.length, Math.ceil(whole.length / size));
      assert.ok(Buffer.concat(slices).equals(whole));
    }),
  );
});

test('the hash is that of the whole', async () => {
  for (const size of [0, 1, sliceBytes - 1, sliceBytes, sliceBytes + 1, 3 * sliceBytes]) {
    const whole = randomBytes(size);
    assert.equal(await hashInSlices(whole), createHash('sha256').update(whole).digest('hex'));
  }
});

test('texts are sorted as by sort, and other work gets its turns meanwhile', async () => {
  for (const count of [0, 1, 1999, 2000, 2001, 30_001]) {
    const texts = Array.from({ length: count }, () => randomBytes(2).toString('latin1'));
    const ticks = countTicks();
    assert.deepEqual(await sortInSlices(texts), texts.toSorted());
    // Each text is handled once in its slice and once at each of the four levels above.
    if (count === 30_001) assert.ok(ticks.end() >= (count / 2000) * 4, 'turns in between');
    else ticks.end();
  }
});

/** Counts turns of the event loop. */
function countTicks(): { end(): number } {
  let [count, isOver] = [0, false];
  const tick = (): void => {
    count++;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  return {
    end() {
      isOver = true;
      return count;
    },
  };
}
