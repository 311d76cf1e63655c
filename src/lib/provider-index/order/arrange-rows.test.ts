import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../../test/support/random-directory.ts';
import { setBit, wordCount } from '../bits.ts';
import type { TextColumn } from '../text-column.ts';
import { arrangeRows, stretchesAt } from './arrange-rows.ts';

const rowCount = 50_000;

// Fewer groups than stretches, and several groups a stretch.
for (const groupCount of [3, 700, 16_385, 100_000]) {
  for (const isDescending of [false, true]) {
    test(`stretches of ${groupCount} groups, ${isDescending ? 'descending' : 'ascending'}, hold what sorting puts there`, () => {
      const random = seededRandom(groupCount);
      const blankGroup = groupCount - 1;
      const codes = Uint32Array.from({ length: rowCount }, () =>
        random() < 0.1 ? blankGroup : Math.floor(random() * groupCount),
      );
      const bits = new Uint32Array(wordCount(rowCount));
      const sorted: number[] = [];
      for (let row = 0; row < rowCount; row++) {
        if (random() < 0.7) continue;
        setBit(bits, row);
        sorted.push(row);
      }
      const placeOf = (row: number): number => {
        const code = codes[row] as number;
        return isDescending && code !== blankGroup ? -code - 1 : code;
      };
      sorted.sort((a, b) => placeOf(a) - placeOf(b));
      const column = { codes, groupCount, blankGroup } as unknown as TextColumn;
      const count = sorted.length;
      const arranged = arrangeRows({ bits, count, column, isDescending });
      for (let from = 0; from < count; from += 997) {
        const to = Math.min(count, from + 10);
        const { rows, start } = stretchesAt(arranged, from, to);
        assert.ok(start <= from && start + rows.length >= to);
        const found = [...rows].sort((a, b) => placeOf(a) - placeOf(b)).map(placeOf);
        const expected = sorted.slice(start, start + rows.length).map(placeOf);
        assert.deepEqual(found, expected);
        // Seldom more than the page and what shares its stretches.
        assert.ok(groupCount < 700 || rows.length < count / 4);
      }
    });
  }
}
