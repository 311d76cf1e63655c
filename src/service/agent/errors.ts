import { CodedError, type ErrorOptionsFor, type ErrorTable } from '../../core/index.ts';

export const agentErrors = {
  AGENT_NO_SIGNING_KEY: { kind: 'internal' },
  AGENT_NO_DECRYPTION_KEY: { kind: 'not-found' },
  AGENT_THREAD_LOST: { kind: 'unavailable' },
  AGENT_CLOSED: { kind: 'unavailable' },
} as const satisfies ErrorTable;

/** Why the agent could not even begin, or was interrupted. Verdicts about messages are DirectErrors. */
export class AgentError extends CodedError<keyof typeof agentErrors> {
  constructor(code: keyof typeof agentErrors, message: string, options?: ErrorOptionsFor) {
    super(agentErrors, code, message, options);
  }
}
