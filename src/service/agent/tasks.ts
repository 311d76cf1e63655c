import type {
  AgentJobRunner,
  OpenedMessage,
  OpenJob,
  SealedMessage,
  SealJob,
} from '../../lib/direct/index.ts';

/** A task for a cryptography thread. Plain data, since it is sent between threads. */
export type AgentTask = SealJob | OpenJob;

export type AgentResult =
  | { readonly kind: 'seal'; readonly sealed: SealedMessage }
  | { readonly kind: 'open'; readonly opened: OpenedMessage };

export function runTask(runner: AgentJobRunner, task: AgentTask): AgentResult {
  return task.kind === 'seal'
    ? { kind: 'seal', sealed: runner.seal(task) }
    : { kind: 'open', opened: runner.open(task) };
}
