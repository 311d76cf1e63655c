/** Runs in a worker thread: the part of the agent that costs processor time. */
import { serveTasks } from '../../core/threads/index.ts';
import { createAgentJobRunner } from '../../lib/direct/index.ts';
import { runTask, type AgentResult, type AgentTask } from './tasks.ts';

const runner = createAgentJobRunner();

serveTasks<AgentTask, AgentResult>(
  (task) => runTask(runner, task),
  // Nothing else of the answer is in the memory of the message.
  (result) => [result.kind === 'seal' ? result.sealed.message : result.opened.inner],
);
