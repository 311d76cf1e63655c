/** Runs in a worker thread: the part of the agent that costs processor time. */
import { parentPort, type TransferListItem } from 'node:worker_threads';
import { CodedError, errorText } from '../../core/index.ts';
import { createAgentJobRunner, DirectError } from '../../lib/direct/index.ts';
import type { AgentResult, AgentTask } from './tasks.ts';
import { listTransfer } from './transfer.ts';
import type { ThreadAnswer, ThreadFailure } from './thread-pool.ts';

const runner = createAgentJobRunner();

parentPort?.on('message', (task: AgentTask) => {
  const answer = run(task);
  parentPort?.postMessage(answer, answer.isDone ? transferOf(answer.result) : []);
});

function run(task: AgentTask): ThreadAnswer<AgentResult> {
  try {
    if (task.kind === 'seal') return { isDone: true, result: { kind: 'seal', sealed: runner.seal(task) } };
    return { isDone: true, result: { kind: 'open', opened: runner.open(task) } };
  } catch (error) {
    return { isDone: false, error: describe(error) };
  }
}

function describe(error: unknown): ThreadFailure {
  const code = error instanceof CodedError ? error.code : 'INTERNAL';
  const isDirect = error instanceof DirectError;
  return {
    module: isDirect ? 'direct' : 'other',
    code,
    reason: isDirect ? error.reason : code,
    message: errorText(error),
  };
}

/** A large message moves to the other thread instead of being copied. Nothing else of the answer lies in its memory. */
function transferOf(result: AgentResult): TransferListItem[] {
  return listTransfer(result.kind === 'seal' ? result.sealed.message : result.opened.inner);
}
