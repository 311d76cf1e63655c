import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTurns } from './turns.ts';

test('lets one caller continue per turn of the event loop, in order', async () => {
  const takeTurn = createTurns();
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const seen: { readonly caller: number; readonly turn: number }[] = [];
  await Promise.all(
    Array.from({ length: 5 }, async (_, caller) => {
      await takeTurn();
      seen.push({ caller, turn });
    }),
  );
  isOver = true;
  assert.deepEqual(
    seen.map(({ caller }) => caller),
    [0, 1, 2, 3, 4],
  );
  assert.equal(new Set(seen.map((one) => one.turn)).size, 5, 'two callers continued in one turn');
});
