import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DirectError } from '../../lib/direct/index.ts';
import { createTaskRunner } from './run-tasks.ts';
import type { AgentResult, AgentTask } from './tasks.ts';

const taskOf = (bytes: number): AgentTask => ({ kind: 'open', message: new Uint8Array(bytes), keys: [] });
const answer = { kind: 'open' } as AgentResult;

function start(runHere: () => AgentResult = () => answer) {
  const places: string[] = [];
  const tasks = createTaskRunner(
    {
      run: async () => {
        places.push('thread');
        return answer;
      },
    },
    () => {
      places.push('here');
      return runHere();
    },
  );
  return { tasks, places };
}

test('small messages are worked on here, large ones in a thread', async () => {
  const { tasks, places } = start();
  await tasks.run(taskOf(256 * 1024));
  await tasks.run(taskOf(256 * 1024 + 1));
  assert.deepEqual(places, ['here', 'thread']);
});

test('a thread takes over the memory of a message, unless its owner keeps it', async () => {
  const moved: number[] = [];
  const tasks = createTaskRunner(
    {
      run: async (_task, buffers = []) => {
        moved.push(buffers.length);
        return answer;
      },
    },
    () => answer,
  );
  await tasks.run(taskOf(300_000));
  await tasks.run(taskOf(300_000), { keepsMessage: true });
  assert.deepEqual(moved, [1, 0]);
});

test('of many small messages at once some go to threads, and those here leave turns to the event loop', async () => {
  const { tasks, places } = start();
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  await Promise.all(Array.from({ length: 20 }, () => tasks.run(taskOf(10))));
  isOver = true;
  await counting;
  assert.deepEqual([places.filter((place) => place === 'here').length, places.length], [8, 20]);
  assert.ok(turns >= 8, `${turns} turns`);
});

test('a refusal is thrown as it is; anything else is a fault of ours, and the next message is worked on', async () => {
  const errors: Error[] = [
    new DirectError('DIRECT_NOT_SIGNED', 'not signed'),
    Object.assign(new TypeError('broken'), { code: 'X' }),
  ];
  const { tasks } = start(() => {
    const error = errors.shift();
    if (error !== undefined) throw error;
    return answer;
  });
  await assert.rejects(tasks.run(taskOf(1)), { code: 'DIRECT_NOT_SIGNED' });
  await assert.rejects(tasks.run(taskOf(1)), (error) => error instanceof Error && !('code' in error));
  assert.equal(await tasks.run(taskOf(1)), answer);
});
