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
  const { tasks, places } = start(() => {
    // As long as a message of 256 kB takes.
    for (const endAt = performance.now() + 3; performance.now() < endAt;);
    return answer;
  });
  let [turns, longestMs, lastAt] = [0, 0, performance.now()];
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turns++) {
      await nextTurn();
      longestMs = Math.max(longestMs, performance.now() - lastAt);
      lastAt = performance.now();
    }
  })();
  await Promise.all(Array.from({ length: 40 }, () => tasks.run(taskOf(10))));
  isOver = true;
  await counting;
  assert.deepEqual([places.filter((place) => place === 'here').length, places.length], [16, 40]);
  // Three of 3 ms are in each turn of 8 ms; a processor that is busy with other work makes fewer of them.
  assert.ok(turns >= 5, `${turns} turns, the longest of ${longestMs.toFixed(1)} ms`);
});

test('those of one turn are worked on in succession, without turns between them', async () => {
  const { tasks } = start();
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  const turnOf = await Promise.all(
    Array.from({ length: 5 }, async () => {
      await tasks.run(taskOf(10));
      return turns;
    }),
  );
  isOver = true;
  await counting;
  assert.deepEqual(new Set(turnOf).size, 1, String(turnOf));
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
