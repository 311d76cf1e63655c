import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runInProcess } from './run-process.ts';

const support = path.resolve(import.meta.dirname, '../../../test/support');
const script = new URL('../../../test/support/process-script.ts', import.meta.url);

test('reports, then answers, at a lower priority', async () => {
  const notes: number[] = [];
  const result = await runInProcess<string, { at: Date; priority: number }, number>(script, 'work', {
    onNote: (note) => void notes.push(note),
  });
  assert.deepEqual(result.at, new Date(0));
  // Of tests that run at a low priority themselves it is no lower.
  assert.equal(result.priority, Math.max(10, getPriority()));
  assert.notEqual(notes[0], process.pid);
  assert.equal(notes[1], 2);
});

test('its error arrives; one that ends before its answer is found out', async () => {
  await assert.rejects(runInProcess(script, 'refuse'), { code: 'TEST_REFUSED', kind: 'conflict' });
  await assert.rejects(runInProcess(script, 'end'), { code: 'THREAD_PROCESS_LOST', message: /exit code 3/ });
  await assert.rejects(runInProcess(new URL('./none.ts', script), 'work'), { code: 'THREAD_PROCESS_LOST' });
});

test('one that is killed is found out', async () => {
  const killed = runInProcess<string, never, number>(script, 'block', {
    onNote: (pid) => void process.kill(pid, 'SIGKILL'),
  });
  await assert.rejects(killed, { code: 'THREAD_PROCESS_LOST', message: /SIGKILL/ });
});

test('one that is told to end together with this process leaves that to this process', async () => {
  const notes: number[] = [];
  await runInProcess<string, unknown, number>(script, 'slow', {
    onNote(note) {
      if (notes.push(note) > 1) return;
      for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(note, signal);
    },
  });
  assert.equal(notes[1], 2);
});

test('ends when it is aborted', async () => {
  const closing = new AbortController();
  let pid = 0;
  const running = runInProcess<string, never, number>(script, 'block', {
    signal: closing.signal,
    onNote(note) {
      pid = note;
      closing.abort(new Error('closing'));
    },
  });
  await assert.rejects(running, /closing/);
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  await assert.rejects(runInProcess(script, 'work', { signal: closing.signal }), /closing/);
});

test('ends with the process that started it, however that ends', async () => {
  const starter = spawn(process.execPath, [path.join(support, 'abandon-process.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(starter.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  assert.doesNotThrow(() => process.kill(pid, 0));
  starter.kill('SIGKILL');
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await sleep(10);
  }
});
