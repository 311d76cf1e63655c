import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createByteGate } from './byte-gate.ts';

test('work waits for its bytes in order; an item larger than the gate runs alone', async () => {
  const gate = createByteGate(100);
  const order: string[] = [];
  const enter = (name: string, bytes: number) =>
    gate.enter(bytes).then((leave) => {
      order.push(name);
      return leave;
    });
  const first = await enter('first', 60);
  const second = enter('second', 500);
  const third = enter('third', 10);
  await new Promise(setImmediate);
  assert.deepEqual(order, ['first']);
  first();
  first();
  const leaveSecond = await second;
  await new Promise(setImmediate);
  assert.deepEqual(order, ['first', 'second']);
  leaveSecond();
  (await third)();
  assert.deepEqual(order, ['first', 'second', 'third']);
});
