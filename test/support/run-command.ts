import type { Command } from 'commander';
import { createCliContext } from '../../src/app/cli/context.ts';
import { createProgram } from '../../src/app/cli/create-program.ts';

export interface CommandRun {
  readonly out: string;
  readonly note: string;
  readonly exitCode: number | undefined;
}

/** Runs one command in this process. What it throws, also for wrong words, has `out` and `note` of until then. */
export async function runCommand(
  env: Readonly<Record<string, string | undefined>>,
  words: readonly string[],
  onPrint: (text: string) => void = () => {},
): Promise<CommandRun> {
  const said = { out: '', note: '' };
  const writeTo = (stream: keyof typeof said) => (text: string) => {
    said[stream] += text;
    onPrint(text);
  };
  const host = {
    env,
    stdout: { write: writeTo('out') },
    stderr: { write: writeTo('note') },
    exitCode: undefined as number | undefined,
  };
  const named = {};
  const program = await createProgram(createCliContext(host, named), named, words[0]);
  for (const one of listAll(program)) one.exitOverride().configureOutput({ writeErr: host.stderr.write });
  try {
    await program.parseAsync([...words], { from: 'user' });
  } catch (error) {
    throw Object.assign(error as Error, said);
  }
  return { ...said, exitCode: host.exitCode };
}

/** A command and all below it. */
export function listAll(command: Command): Command[] {
  return [command, ...command.commands.flatMap(listAll)];
}
