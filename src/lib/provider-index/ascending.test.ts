import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/random-directory.ts';
import { createArrayReader, createArrayStore } from './arrays.ts';
import { Ascending } from './ascending.ts';
import { packAscending } from './build/pack-ascending.ts';

test('ascending numbers are read as they were, however far from each other', () => {
  const random = seededRandom(7);
  for (const count of [0, 1, 1000, 100_003]) {
    const store = createArrayStore();
    const values = store.allocate('point.starts', 'u32', count);
    store.allocate('npi.codes', 'u32', count).set(values);
    for (let place = 1; place < count; place++) {
      // Few steps are beyond the reach of two bytes, some exactly at it.
      const step =
        random() < 0.001 ? Math.floor(random() * 200_000) : random() < 0.01 ? 0xffff : random() * 3;
      values[place] = (values[place - 1] as number) + step;
    }
    const packed = packAscending(store.finish(count));
    const read = new Ascending('point.starts', createArrayReader(packed));
    assert.equal(read.length, count);
    assert.deepEqual(
      Array.from(values, (_, place) => read.at(place)),
      [...values],
    );
    const bytes = packed.buffers.reduce((sum, buffer) => sum + buffer.byteLength, 0) - count * 4;
    if (count > 100_000) assert.ok(bytes < count * 7, `${bytes} bytes`);
    assert.ok(packed.layout.arrays.some(({ name }) => name === 'npi.codes'));
  }
});
