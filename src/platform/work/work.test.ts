import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { silentLog } from '../../core/index.ts';
import { nodeId } from './node-id.ts';
import { startRounds } from './start-rounds.ts';

const everyMs = 1e6;

test('rounds come at once, and again when woken, also during a round', async () => {
  let count = 0;
  const rounds = startRounds({
    name: 'test',
    everyMs,
    log: silentLog,
    work: () => ++count === 1 && rounds.wake(),
  });
  while (count < 2) await new Promise(setImmediate);
  rounds.wake();
  while (count < 3) await new Promise(setImmediate);
  await rounds.close();
  assert.equal(count, 3);
});

test('closing waits for the round in progress, and for the last one', async () => {
  const [started, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let count = 0;
  const work = async (): Promise<void> => {
    started.resolve();
    await ended.promise;
    count++;
  };
  const rounds = startRounds({ name: 'test', everyMs, log: silentLog, hasLast: true, work });
  await started.promise;
  const closed = rounds.close();
  ended.resolve();
  await closed;
  assert.equal(count, 2);
});

test('rounds go on after an error, which is logged', async () => {
  const errors: unknown[] = [];
  let count = 0;
  const rounds = startRounds({
    name: 'test',
    everyMs: 1,
    log: { ...silentLog, error: (fields, text) => void errors.push([fields['worker'], text]) },
    work: () => assert.ok(++count > 1, 'no database'),
  });
  while (count < 2) await setTimeout(1);
  await rounds.close();
  assert.deepEqual(errors, [['test', 'a worker could not do its work']]);
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
