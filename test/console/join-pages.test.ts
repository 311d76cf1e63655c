import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinPages } from '../../src/web/api/join-pages.ts';

test('a row that is on two pages is shown once, in its first place, as it was read last', () => {
  const row = (id: string, waiting: number) => ({ id, waiting });
  const pages = [
    { result: [row('a.example', 3), row('b.example', 2)], next: 'queue.2' },
    { result: [row('c.example', 1), row('a.example', 2)], next: null },
  ];
  const joined = joinPages(pages, ({ id }) => id);
  assert.deepEqual([...joined.values()], [row('a.example', 2), row('b.example', 2), row('c.example', 1)]);
});
