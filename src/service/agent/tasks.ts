import type {
  AgentJobRunner,
  OpenedMessage,
  OpenJob,
  SealedMessage,
  SealJob,
} from '../../lib/direct/index.ts';

/** What a cryptography thread is asked. Plain data, since it crosses from one thread to another. */
export type AgentTask = SealJob | OpenJob;

export type AgentResult =
  | { readonly kind: 'seal'; readonly sealed: SealedMessage }
  | { readonly kind: 'open'; readonly opened: OpenedMessage };

export function runTask(runner: AgentJobRunner, task: AgentTask): AgentResult {
  return task.kind === 'seal'
    ? { kind: 'seal', sealed: runner.seal(task) }
    : { kind: 'open', opened: runner.open(task) };
}
