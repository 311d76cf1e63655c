import { findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import { AgentCommandError } from './command-error.ts';

/** The Direct address that an option or argument gives. Errors: `AGENT_OPTION_INVALID`. */
export function readAddress(option: string, text: string): DirectAddress {
  const address = findDirectAddress(text);
  if (address === undefined)
    throw new AgentCommandError('AGENT_OPTION_INVALID', `${option} is not a Direct address (local@domain)`);
  return address;
}

export function readAddresses(option: string, texts: readonly string[]): DirectAddress[] {
  return texts.map((text) => readAddress(option, text));
}
