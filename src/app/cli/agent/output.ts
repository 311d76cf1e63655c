import { CodedError, errorText } from '../../../core/index.ts';
import { DirectError } from '../../../lib/direct/index.ts';

/** Takes the one object that a command answers with, and the exit code that goes with it. */
export type AgentOutput = (result: Readonly<Record<string, unknown>>, exitCode: 0 | 1 | 2) => void;

/** A refusal in the words of the JSON: the most exact code, the agent's own code, and a sentence. */
export function describeRefusal(error: CodedError): Record<string, unknown> {
  return {
    verdict: 'reject',
    reason: error instanceof DirectError ? error.reason : error.code,
    code: error.code,
    text: error.message,
    isTransient: error.isTransient,
    ...(error.fields['signers'] === undefined ? {} : { signerReasons: error.fields['signers'] }),
  };
}

/** What could not be tried at all: a missing file, a key that is none, wrong arguments. */
export function describeFailure(error: unknown): Record<string, unknown> {
  return {
    verdict: 'error',
    reason: error instanceof CodedError ? error.code : systemCode(error),
    text: errorText(error),
  };
}

function systemCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'ARGUMENTS_INVALID';
}

/** Runs the work of a command. Its refusals are answers with 1; what goes wrong before is an answer with 2. */
export async function answering(output: AgentOutput, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof TypeError) throw error;
    output(describeFailure(error), 2);
  }
}
