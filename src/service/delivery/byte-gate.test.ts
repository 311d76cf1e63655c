import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createByteGate, type ByteGate } from './byte-gate.ts';

function watch(gate: ByteGate) {
  const order: string[] = [];
  async function enter(party: string, bytes: number): Promise<() => void> {
    const entered = gate.enter(party, bytes);
    if (typeof entered === 'number') assert.fail(`${party} may not wait`);
    const leave = await entered;
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
  assert.equal(gate.enter('second', 10), 1_000, 'one of the party waits already');
  const third = enter('third', 10);
  await new Promise(setImmediate);
  assert.deepEqual(order, ['first']);
  assert.equal(gate.enter('fourth', 10), 1_000, 'two wait already');
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
  assert.equal(gate.enter('slower', 25), 1_000);
  (await enter('third', 25))();
  assert.deepEqual(order, ['slow', 'slow', 'slower', 'third']);
});

test('one party gets half of the gate, and does not hold up those behind it', async () => {
  const gate = createByteGate(100, 4);
  const { order, enter } = watch(gate);
  const first = await enter('slow', 30);
  assert.equal(gate.enter('slow', 30), 1_000);
  (await enter('other', 40))();
  first();
  (await enter('slow', 500))();
  assert.deepEqual(order, ['slow', 'other', 'slow']);
});

test('work of one party that finds no place comes again one after the other, within a minute', () => {
  let nowMs = 5_000;
  const gate = createByteGate(100, 4, () => nowMs);
  void gate.enter('stuck', 100);
  void gate.enter('many', 10);
  const refused = Array.from({ length: 2_000 }, () => gate.enter('many', 10));
  assert.deepEqual(refused.slice(0, 3), [1_000, 1_050, 1_100]);
  assert.equal(Math.max(...refused.map(Number)), 60_000);
  assert.equal(typeof gate.enter('other', 10), 'object');
  assert.equal(gate.enter('other', 10), 1_000, 'each party has its turns');
  nowMs += 59_500;
  assert.equal(gate.enter('many', 10), 1_000);
});
