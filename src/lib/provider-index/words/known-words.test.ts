import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wordCount } from '../bits.ts';
import { createBitsPool, type BitsPool } from '../intersect.ts';
import type { WordSets } from './context.ts';
import { createKnownWords } from './known-words.ts';

// With a set that the query alone needs.
function findSets(pool: BitsPool): WordSets {
  const [rows] = [pool.take(), pool.take()].map((bits) => ({ kind: 'bits', bits, count: 1 }) as const);
  if (rows === undefined) throw new TypeError('no set');
  return { all: { kind: 'bits', bits: pool.take(), count: 1 }, classes: [{ level: 3, field: 'name', rows }] };
}

function setsOf({ all, classes }: WordSets): Uint32Array[] {
  return [all, ...classes.map(({ rows }) => rows)].flatMap((set) => (set.kind === 'bits' ? set.bits : []));
}

for (const [millions, mostBytes] of [
  [0.5, 8.1e6],
  [3, 48.1e6],
  [9, 48e6],
] as const)
  test(`words of ${millions} million rows are kept in at most ${mostBytes / 1e6} MB, those asked for last`, () => {
    const words = wordCount(millions * 1e6);
    const pool = createBitsPool(words);
    const known = createKnownWords(millions * 1e6, pool);
    const taken = new Set<Uint32Array>();
    const counted: BitsPool = {
      ...pool,
      take() {
        const set = pool.take();
        taken.add(set);
        return set;
      },
    };
    let keptBytes = 0;
    for (let word = 0; word < 200; word++) {
      known.set(
        `word ${word}`,
        pool.keep(() => findSets(counted), setsOf),
      );
      pool.releaseAll();
      keptBytes = [...known.values()].flatMap(({ sets }) => sets).length * words * 4;
      assert.ok(keptBytes <= mostBytes, `${keptBytes} bytes after word ${word}`);
    }
    assert.ok(keptBytes > mostBytes * 0.6, String(keptBytes));
    assert.deepEqual(
      [199, 195, 100].map((word) => known.has(`word ${word}`)),
      [true, true, false],
    );
    // The sets of words that were forgotten are used again.
    const mostTaken = keptBytes / (words * 4) + 8;
    assert.ok(taken.size <= mostTaken, `${taken.size} sets, ${mostTaken}`);
  });
