import assert from 'node:assert/strict';
import { test } from 'node:test';
import { selectRanges, type GroupedRows, type Selector } from '../selector.ts';
import { scanRows } from './scan-rows.ts';

const rowCount = 300_000;

/** Rows in four groups, as `groupOf` says. */
function columnOf(groupOf: (row: number) => number, ranks?: Uint32Array): GroupedRows {
  const codes = Uint8Array.from({ length: rowCount }, (_, row) => groupOf(row));
  const starts = new Uint32Array(5);
  for (const code of codes) {
    const group = ranks === undefined ? code : (ranks[code] as number);
    starts[group + 1] = (starts[group + 1] as number) + 1;
  }
  for (let group = 0; group < 4; group++)
    starts[group + 1] = (starts[group + 1] as number) + (starts[group] as number);
  return { codes, starts, postings: undefined, ...(ranks && { ranks }) };
}

function select(column: GroupedRows, ...ranges: number[]): Selector & { kind: 'groups' } {
  const selector = selectRanges(column, Uint32Array.from(ranges));
  assert.ok(selector.kind === 'groups');
  return selector;
}

test('a page of one range, of several, and by rank', () => {
  const cyclic = columnOf((row) => row % 4);
  assert.deepEqual([...(scanRows(select(cyclic, 1, 3), 2, 5) ?? [])], [5, 6, 9]);
  assert.deepEqual([...(scanRows(select(cyclic, 0, 1, 3, 4), 0, 3) ?? [])], [0, 3, 4]);
  const ranked = columnOf((row) => row % 4, Uint32Array.of(3, 2, 1, 0));
  assert.deepEqual([...(scanRows(select(ranked, 0, 1), 0, 2) ?? [])], [3, 7]);
  assert.deepEqual([...(scanRows(select(ranked, 0, 1, 3, 4), 0, 3) ?? [])], [0, 3, 4]);
  assert.deepEqual([...(scanRows(select(cyclic, 1, 2), 3, 3) ?? [])], []);
});

test('a page that lies far away is given up, before or while scanning', () => {
  const cyclic = columnOf((row) => row % 4);
  assert.equal(scanRows(select(cyclic, 1, 2), 60_000, 60_010), undefined);
  // By count the page would be near, but the matches lie at the very end.
  const late = columnOf((row) => (row < 280_000 ? 0 : 1));
  assert.equal(scanRows(select(late, 1, 2), 0, 10), undefined);
});
