import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '../index.ts';
import { listMoved } from './serve-tasks.ts';
import { createTaskThreads } from './task-threads.ts';

const script = new URL('../../../test/support/task-threads-script.ts', import.meta.url);
const thread = createTaskThreads<Uint8Array | string, Uint8Array>(script);
after(() => thread.close());

test('answers each task with its own result, also many at once', async () => {
  const tasks = Array.from({ length: 20 }, (_, index) => randomBytes(index));
  const results = await Promise.all(tasks.map((task) => thread.run(task)));
  for (const [index, task] of tasks.entries())
    assert.deepEqual(Buffer.from(results[index] ?? []), Buffer.from(task.toReversed()));
});

test('large bytes move instead of being copied, small ones stay', async () => {
  const large = new Uint8Array(100_000);
  await thread.run(large, listMoved([large]));
  assert.equal(large.length, 0);
  const small = new Uint8Array(1000);
  await thread.run(small, listMoved([small]));
  assert.equal(small.length, 1000);
});

test('a coded error arrives with all that the edges read', async () => {
  await assert.rejects(thread.run('refuse'), (error) => {
    assert.ok(error instanceof CodedError);
    assert.deepEqual(
      [error.code, error.kind, error.isTransient, error.publicMessage, error.message, error.problems],
      ['TEST_REFUSED', 'conflict', false, 'Refused.', 'no', [{ field: 'a', reason: 'b', detail: 'c' }]],
    );
    return true;
  });
  await assert.rejects(thread.run('fail'), /broken/);
});

test('a thread that ends fails its task as transient, and the next task gets a new thread', async () => {
  const waiting = [thread.run('exit'), thread.run('exit')];
  await Promise.all(waiting.map((task) => assert.rejects(task, { code: 'THREAD_LOST', isTransient: true })));
  assert.deepEqual(Buffer.from(await thread.run(Uint8Array.of(1, 2))), Buffer.of(2, 1));
});

test('a task that is aborted before a thread has begun is dropped, one that has begun goes on', async () => {
  const aborting = new AbortController();
  const begun = thread.run(Uint8Array.of(1, 2), [], aborting.signal);
  const waiting = thread.run('exit', [], aborting.signal);
  const last = thread.run(Uint8Array.of(3, 4));
  aborting.abort(new Error('nobody waits'));
  await assert.rejects(waiting, /nobody waits/);
  await assert.rejects(thread.run('exit', [], aborting.signal), /nobody waits/);
  assert.deepEqual(Buffer.from(await begun), Buffer.of(2, 1));
  assert.deepEqual(Buffer.from(await last), Buffer.of(4, 3));
});

test('a task whose memory was given away before fails alone: its thread takes the next one', async () => {
  const gone = new Uint8Array(100_000);
  structuredClone(gone, { transfer: [gone.buffer] });
  // The second waits in the queue, and is sent when the thread has answered the first.
  const [first, second, third] = [
    thread.run(Uint8Array.of(1, 2)),
    thread.run(gone, [gone.buffer]),
    thread.run(Uint8Array.of(3, 4)),
  ];
  await assert.rejects(second, { name: 'DataCloneError' });
  assert.deepEqual(Buffer.from(await first), Buffer.of(2, 1));
  assert.deepEqual(Buffer.from(await third), Buffer.of(4, 3));
});

test('a task that comes while the idle thread is ending is not lost', async () => {
  const idle = createTaskThreads<Uint8Array, Uint8Array>(script, { idleMs: 1 });
  for (let round = 0; round < 15; round++) {
    assert.deepEqual(Buffer.from(await idle.run(Uint8Array.of(1, 2))), Buffer.of(2, 1));
    // From before the thread is told to end until after it has ended.
    await sleep(round % 5);
  }
  await idle.close();
});

test('one that dies fails its own task only; threads that stay ready are replaced', async () => {
  const pool = createTaskThreads<Uint8Array | string, Uint8Array>(script, { staysReady: true });
  const dying = assert.rejects(pool.run('exit'), { code: 'THREAD_LOST' });
  const next = pool.run(Uint8Array.of(1, 2));
  await dying;
  assert.deepEqual(Buffer.from(await next), Buffer.of(2, 1));
  await pool.close();
});

test('several threads work side by side', async () => {
  const pool = createTaskThreads<Uint8Array | string, Uint8Array>(script, { threads: 2 });
  const blocked = assert.rejects(pool.run('block'), { code: 'THREAD_LOST' });
  assert.deepEqual(Buffer.from(await pool.run(Uint8Array.of(1, 2))), Buffer.of(2, 1));
  await Promise.all([pool.close(), blocked]);
});

test('after closing nothing runs any more', async () => {
  const closed = createTaskThreads<string, Uint8Array>(script);
  const running = closed.run('exit');
  await Promise.all([assert.rejects(running), closed.close()]);
  await assert.rejects(closed.run('exit'), { code: 'THREAD_LOST' });
});

test('a process that closes busy threads waits until they have ended', () => {
  const file = path.resolve(import.meta.dirname, '../../../test/support/close-task-threads.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  assert.deepEqual([status, stdout], [0, 'closed'], stderr);
});
