import { codedError, type ErrorTable } from '../../../core/index.ts';

const agentCommandErrors = {
  AGENT_KEYS_UNPAIRED: { kind: 'invalid-input' },
  AGENT_OPTION_INVALID: { kind: 'invalid-input' },
  AGENT_NOT_AN_MDN: { kind: 'invalid-input' },
} as const satisfies ErrorTable;

export class AgentCommandError extends codedError(agentCommandErrors) {}
