import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLineLimit } from './line-limit.ts';

test('writes so many lines of a kind per minute, and then tells how many it left out', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const limit = createLineLimit();
  const lines: string[] = [];
  const tell = (kind: string): void =>
    limit.tell(
      kind,
      2,
      () => lines.push(kind),
      (count) => lines.push(`${kind} +${count}`),
    );
  for (let index = 0; index < 5; index++) tell('a');
  tell('b');
  assert.deepEqual(lines, ['a', 'a', 'b']);
  context.mock.timers.tick(60_000);
  assert.deepEqual(lines, ['a', 'a', 'b', 'a +3']);
  tell('a');
  context.mock.timers.tick(60_000);
  assert.deepEqual(lines.slice(4), ['a']);
});

test('with very many kinds at once, the later ones share a count', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const limit = createLineLimit();
  let [written, rest] = [0, 0];
  for (let index = 0; index < 5000; index++)
    limit.tell(
      `kind ${index}`,
      1,
      () => written++,
      (count) => (rest += count),
    );
  context.mock.timers.tick(60_000);
  assert.deepEqual([written, rest], [1001, 3999]);
});
