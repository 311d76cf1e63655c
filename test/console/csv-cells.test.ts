/** The front end may import nothing of the program, so both write CSV; neither writes what a spreadsheet runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCsvLine } from '../../src/core/index.ts';
import { toCsv } from '../../src/web/components/to-csv.ts';

test('a text that a spreadsheet would run has an apostrophe in front in both, and a number has none', () => {
  for (const start of ['=', '+', '-', '@', '\t', '\r'])
    for (const text of [`${start}1+1`, `${start}cmd|' /C calc'!A0,"x"`, start]) {
      const line = toCsv([{ name: 'text', value: (row: string) => row }], [text]).slice('text\r\n'.length);
      assert.match(line, /^"?'/, JSON.stringify(line));
      assert.match(toCsvLine([text]), /^"?'/);
    }
  assert.equal(toCsv([{ name: 'count', value: (row: number) => row }], [-1]), 'count\r\n-1\r\n');
  assert.equal(toCsvLine([-1]), '-1');
});
