import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../../test/support/fast-check.ts';
import { formatTrigramList, intersectTrigramList, readTrigramList } from './trigram-list.ts';
import { formatGroupLists, readGroupLists } from './words/group-lists.ts';

const random = createRandom('trigram-list');

// Runs of neighbors of every length, between gaps of every length.
function randomList(): Uint32Array {
  const list: number[] = [];
  for (let next = Math.floor(random() * 3), runs = Math.floor(random() * 9); runs > 0; runs--) {
    const length = Math.floor(2 ** (random() * 11));
    for (let left = length; left > 0; left--) list.push(next++);
    next += Math.floor(2 ** (random() * 20));
  }
  return Uint32Array.from(list);
}

test('lists are read as they were written, and intersected', () => {
  for (let round = 0; round < 200; round++) {
    const [list, other] = [randomList(), randomList()];
    const before = [7, 0, 9];
    const lists = Uint8Array.from([...before, ...formatTrigramList(list), 1, 1]);
    const written = { lists, start: before.length, count: list.length };
    assert.deepEqual(readTrigramList(written), list);
    const both = other.filter((member) => list.includes(member));
    assert.deepEqual(intersectTrigramList(other.slice(), written), both);
  }
});

test('the lists of words are read one by one and together', () => {
  const all = Array.from({ length: 40 }, randomList);
  const starts = new Uint32Array(all.length + 1);
  for (const [at, list] of all.entries()) starts[at + 1] = (starts[at] as number) + list.length;
  const groups = Uint32Array.from(all.flatMap((list) => [...list]));
  const lists = formatGroupLists(starts, groups);
  const readable = { bytes: lists.bytes, starts: { at: (list: number) => lists.starts[list] as number } };
  for (const [at, list] of all.entries()) assert.deepEqual(readGroupLists(readable, at, at + 1), list);
  assert.deepEqual(readGroupLists(readable, 0, all.length), groups);
});
