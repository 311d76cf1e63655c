import { CodedError, errorText } from '../../../core/index.ts';
import { DirectError } from '../../../lib/direct/index.ts';

/** Takes the one object that a command answers with, and the exit code that goes with it. */
export type AgentOutput = (result: Readonly<Record<string, unknown>>, exitCode: 0 | 1 | 2) => void;

/** A refusal as JSON: the most specific code, the agent's code, and a sentence. */
export function describeRefusal(error: CodedError): Record<string, unknown> {
  return {
    verdict: 'reject',
    reason: reasonOf(error),
    code: findDocumented(error.code) ?? reasonOf(error),
    text: error.message,
    isTransient: error.isTransient,
    ...(error.fields['signers'] === undefined ? {} : { signerReasons: error.fields['signers'] }),
  };
}

/** Describes an input error: a missing file, an invalid key, wrong arguments. */
export function describeFailure(error: unknown): Record<string, unknown> {
  return {
    verdict: 'error',
    reason: reasonOf(error),
    text: errorText(error),
  };
}

/** The families of docs/agent-tool.md. */
const documented = /^(?:AGENT|DIRECT|MDN|PKI|SMIME|XDM)_/;

function findDocumented(code: string): string | undefined {
  return documented.test(code) ? code : undefined;
}

/**
 * Why something was refused or could not be tried, as a code of a documented family: the innermost one that
 * the error holds. `ENOENT` and its like are the operating system's words about a file.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof DirectError) return error.reason;
  let reason: string | undefined;
  for (let cause = error; cause instanceof CodedError; cause = cause.cause)
    reason = findDocumented(cause.code) ?? reason;
  return reason ?? ownReason(error);
}

function ownReason(error: unknown): string {
  if (error instanceof CodedError)
    return error.code.startsWith('MIME_') ? 'AGENT_MESSAGE_UNREADABLE' : 'AGENT_FAILED';
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/^E[A-Z0-9]+$/.test(code)) return code;
  const isArguments =
    code.startsWith('commander.') || error instanceof SyntaxError || error instanceof TypeError;
  return isArguments ? 'AGENT_ARGUMENTS_INVALID' : 'AGENT_FAILED';
}

/**
 * Runs the work of a command. A refused message exits with 1; an unusable input, such as an unreadable file,
 * exits with 2.
 */
export async function answering(output: AgentOutput, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof TypeError) throw error;
    output(describeFailure(error), 2);
  }
}
