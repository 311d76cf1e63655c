import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../core/index.ts';
import { nodeId } from './node-id.ts';
import { startWorker } from './start-worker.ts';

test('a worker works until nothing is due, sleeps, and looks again when woken', async () => {
  const due = [[1, 2, 3], [4]];
  const done: number[] = [];
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const worker = startWorker({
    name: 'test',
    claim: async () => due.shift() ?? [],
    handle: async (item: number) => {
      done.push(item);
      if (item === 5) finish();
    },
    idleMs: 1e6,
    concurrency: 2,
    log: silentLog,
  });
  while (done.length < 4) await new Promise(setImmediate);
  due.push([5]);
  worker.wake();
  await finished;
  await worker.close();
  assert.deepEqual(
    done.toSorted((a, b) => a - b),
    [1, 2, 3, 4, 5],
  );
});

test('a wake-up during the look is not lost', async () => {
  let looks = 0;
  const worker = startWorker({
    name: 'test',
    claim: async () => {
      if (++looks === 1) worker.wake();
      return [];
    },
    handle: async () => {},
    idleMs: 1e6,
    concurrency: 1,
    log: silentLog,
  });
  while (looks < 2) await new Promise(setImmediate);
  await worker.close();
  assert.equal(looks, 2);
});

test('closing waits for the items in progress', async () => {
  let finish = (): void => {};
  let isDone = false;
  let isStarted = (): void => {};
  const started = new Promise<void>((resolve) => (isStarted = resolve));
  const due = [[1]];
  const worker = startWorker({
    name: 'test',
    claim: async () => due.shift() ?? [],
    handle: async () => {
      isStarted();
      await new Promise<void>((resolve) => (finish = resolve));
      isDone = true;
    },
    idleMs: 1e6,
    concurrency: 1,
    log: silentLog,
  });
  await started;
  const closed = worker.close();
  finish();
  await closed;
  assert.equal(isDone, true);
});

test('logs errors of claim and handle, and continues', async () => {
  const errors: unknown[] = [];
  const due: (() => number[])[] = [() => assert.fail('no database'), () => [1, 2]];
  const done: number[] = [];
  const worker = startWorker({
    name: 'test',
    claim: async () => due.shift()?.() ?? [],
    handle: async (item: number) => {
      done.push(item);
      if (item === 1) throw new Error('no');
    },
    idleMs: 1,
    concurrency: 1,
    log: { ...silentLog, error: (fields, text) => void errors.push([fields['worker'], text]) },
  });
  while (done.length < 2) await new Promise(setImmediate);
  await worker.close();
  assert.deepEqual(errors, [
    ['test', 'a worker could not claim'],
    ['test', 'a worker could not handle an item'],
  ]);
});

test('a node keeps its id, and two nodes have two; one whose file is damaged gets a new one', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-node-'));
  const [one, two] = [path.join(folder, 'one'), path.join(folder, 'two')];
  assert.equal(nodeId(one), nodeId(one));
  assert.notEqual(nodeId(one), nodeId(two));
  const before = nodeId(two);
  for (const damage of ['', '\n', before.slice(0, 30)]) {
    writeFileSync(path.join(one, 'node-id'), damage);
    assert.match(nodeId(one), /^[\da-f-]{36}$/);
    assert.equal(nodeId(one), nodeId(one));
  }
  assert.deepEqual(readdirSync(one), ['node-id']);
  rmSync(folder, { recursive: true, maxRetries: 5 });
});
