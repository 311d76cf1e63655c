import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../../test/support/random-directory.ts';
import { selectWindow } from './select-window.ts';

for (const [name, valueOf] of [
  ['all different', (random: number) => random],
  ['few different', (random: number) => Math.floor(random * 5)],
  ['all equal', () => 1],
] as const) {
  test(`a window over rows with ${name} keys equals the same rows of a complete sort`, () => {
    const random = seededRandom(17);
    const count = 20_000;
    const first = Float64Array.from({ length: count }, () => valueOf(random()));
    const second = Float64Array.from({ length: count }, () => Math.floor(random() * 100));
    const keys = [
      (row: number) => first[row] as number,
      (row: number) => second[row] as number,
      (row: number) => -row,
    ];
    const sorted = Uint32Array.from({ length: count }, (_, row) => row).sort((a, b) => {
      for (const key of keys) if (key(a) !== key(b)) return key(a) - key(b);
      return 0;
    });
    for (const [from, to] of [
      [0, 10],
      [1000, 1010],
      [count / 2, count / 2 + 100],
      [count - 10, count],
      [0, count],
      [5, 5],
    ] as const) {
      const rows = Uint32Array.from({ length: count }, (_, row) => (row * 7919) % count);
      selectWindow(rows, keys, from, to);
      assert.deepEqual(rows.subarray(from, to), sorted.subarray(from, to));
    }
  });
}
