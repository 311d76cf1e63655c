import { listMoved, createTaskThreads } from '../../src/core/threads/index.ts';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { AgentResult, AgentTask } from '../../src/service/agent/tasks.ts';
import { at, recipient, recipientKey, senderKey, toKeyBytes } from './keys.ts';

export interface LoopHold {
  readonly longestMs: number;
}

/** The longest time that the main thread's event loop stood still while worker threads handled the messages. */
export async function measureLoopHold(
  work: 'out' | 'in',
  message: Uint8Array,
  count: number,
): Promise<LoopHold> {
  const script = new URL('../../src/service/agent/worker.ts', import.meta.url);
  const pool = createTaskThreads<AgentTask, AgentResult>(script, { threads: 2, staysReady: true });
  // Each run gets separate bytes, as from the database, and transfers them.
  const messages = Array.from({ length: count + 2 }, () => new Uint8Array(message));
  const runNext = (): Promise<AgentResult> => {
    const bytes = messages.pop() ?? new Uint8Array(message);
    return pool.run(makeTask(work, bytes), listMoved([bytes]));
  };
  await Promise.all([runNext(), runNext()]);
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  for (let index = 0; index < count; index++) await runNext();
  histogram.disable();
  await pool.close();
  return { longestMs: histogram.max / 1e6 };
}

function makeTask(work: 'out' | 'in', message: Uint8Array): AgentTask {
  if (work === 'in') return { kind: 'open', message, keys: [toKeyBytes(recipientKey)] };
  return {
    kind: 'seal',
    message,
    signers: [toKeyBytes(senderKey)],
    recipients: [{ address: recipient, certificates: [recipientKey.certificate.der] }],
    atMs: at.getTime(),
  };
}
