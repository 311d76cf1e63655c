import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { AgentResult, AgentTask } from '../../src/service/agent/tasks.ts';
import { createThreadPool } from '../../src/service/agent/thread-pool.ts';
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
  const pool = createThreadPool<AgentTask, AgentResult>(script, 2, (failure) => new Error(failure.message));
  const task: AgentTask =
    work === 'out'
      ? {
          kind: 'seal',
          message,
          signers: [toKeyBytes(senderKey)],
          recipients: [{ address: recipient, certificates: [recipientKey.certificate.der] }],
          atMs: at.getTime(),
        }
      : { kind: 'open', message, keys: [toKeyBytes(recipientKey)] };
  await Promise.all([pool.run(task), pool.run(task)]);
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  for (let index = 0; index < count; index++) await pool.run(task);
  histogram.disable();
  await pool.close();
  return { longestMs: histogram.max / 1e6 };
}
