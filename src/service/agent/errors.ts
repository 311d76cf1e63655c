import { codedError, type ErrorTable } from '../../core/index.ts';

export const agentErrors = {
  AGENT_NO_SIGNING_KEY: { kind: 'internal' },
  AGENT_NO_DECRYPTION_KEY: { kind: 'not-found' },
} as const satisfies ErrorTable;

/** Why the agent could not even begin. Verdicts about messages are DirectErrors. */
export class AgentError extends codedError(agentErrors) {}
