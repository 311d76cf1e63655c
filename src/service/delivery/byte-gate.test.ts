import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createByteGate, type ByteGate } from './byte-gate.ts';

function watch(gate: ByteGate) {
  const order: string[] = [];
  async function enter(party: string, bytes: number): Promise<() => void> {
    const leave = await (gate.enter(party, bytes) ?? assert.fail(`${party} may not wait`));
    order.push(party);
    return leave;
  }
  return { order, enter };
}

test('work waits for its bytes in order; an item larger than the gate runs alone', async () => {
  const gate = createByteGate(100, 2);
  const { order, enter } = watch(gate);
  const first = await enter('first', 60);
  const second = enter('second', 500);
  assert.equal(gate.enter('second', 10), undefined, 'one of the party waits already');
  const third = enter('third', 10);
  await new Promise(setImmediate);
  assert.deepEqual(order, ['first']);
  assert.equal(gate.enter('fourth', 10), undefined, 'two wait already');
  first();
  first();
  const leaveSecond = await second;
  await new Promise(setImmediate);
  assert.deepEqual(order, ['first', 'second']);
  leaveSecond();
  (await third)();
  assert.deepEqual(order, ['first', 'second', 'third']);
});

test('two parties leave room for a third one', async () => {
  const gate = createByteGate(100, 4);
  const { order, enter } = watch(gate);
  await enter('slow', 25);
  await enter('slow', 25);
  await enter('slower', 25);
  assert.equal(gate.enter('slower', 25), undefined);
  (await enter('third', 25))();
  assert.deepEqual(order, ['slow', 'slow', 'slower', 'third']);
});

test('one party gets half of the gate, and does not hold up those behind it', async () => {
  const gate = createByteGate(100, 4);
  const { order, enter } = watch(gate);
  const first = await enter('slow', 30);
  assert.equal(gate.enter('slow', 30), undefined);
  (await enter('other', 40))();
  first();
  (await enter('slow', 500))();
  assert.deepEqual(order, ['slow', 'other', 'slow']);
});
