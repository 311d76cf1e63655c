import { createInterface } from 'node:readline';
import type { Command, CommanderError } from 'commander';
import { addDiscoverCommand } from './agent/discover.ts';
import { addMdnCommands } from './agent/mdn.ts';
import { addOpenCommand } from './agent/open.ts';
import { describeFailure, type AgentOutput } from './agent/output.ts';
import { addSealCommand } from './agent/seal.ts';
import { addXdmCommands } from './agent/xdm.ts';
import type { CliContext } from './context.ts';

/**
 * Adds `agent`: the security and trust agent as a tool, without installation or database. Every command
 * prints one JSON object and ends with 0 (done, accepted), 1 (refused) or 2 (could not be tried).
 */
export function addAgentCommands(agent: Command, context: CliContext): void {
  agent
    .option('--stdin', 'read one JSON array of arguments per line, write one JSON object per line')
    .allowExcessArguments()
    // 1 would say that the message was refused.
    .hook('preAction', () => context.setLossExitCode(2))
    .action(async (options: { stdin?: boolean }) => {
      const [word] = agent.args;
      if (word !== undefined)
        agent.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' });
      if (options.stdin !== true) agent.help({ error: true });
      await runLines(agent, context);
    });
  addCommands(agent, (result, exitCode) => {
    context.print(JSON.stringify(result));
    context.setExitCode(exitCode);
  });
  for (const command of [agent, ...allCommands(agent)])
    command.exitOverride((error) => endParsing(error, context));
}

/** Wrong words end with an answer, too: the parser's exit code would say that a message was refused. */
function endParsing(error: CommanderError, context: CliContext): never {
  if (error.exitCode === 0) process.exit(0);
  if (error.code !== 'commander.help') context.print(JSON.stringify(describeFailure(error)));
  process.exit(2);
}

function addCommands(agent: Command, output: AgentOutput): void {
  addOpenCommand(agent, output);
  addSealCommand(agent, output);
  addDiscoverCommand(agent, output);
  addXdmCommands(agent, output);
  addMdnCommands(agent, output);
}

/** One after the other, so that answers come in the order of the questions. */
async function runLines(agent: Command, context: CliContext): Promise<void> {
  const answerTo = createLineRunner(agent);
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() !== '') context.print(JSON.stringify(await answerTo(line)));
  }
}

/**
 * Runs the commands of lines. The commands are built once: each parse starts from the state before the first.
 */
function createLineRunner(agent: Command): (line: string) => Promise<unknown> {
  let answer: unknown;
  const command = agent.createCommand('agent').exitOverride();
  command.configureOutput({ writeOut: () => {}, writeErr: () => {} });
  addCommands(command, (result) => {
    answer = result;
  });
  for (const child of allCommands(command)) child.copyInheritedSettings(command);
  return async (line) => {
    try {
      answer = undefined;
      await command.parseAsync(readArguments(line), { from: 'user' });
      return answer;
    } catch (error) {
      return describeFailure(error);
    }
  };
}

function allCommands(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...allCommands(child)]);
}

function readArguments(line: string): string[] {
  const value: unknown = JSON.parse(line);
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw new TypeError('a line must be a JSON array of strings');
  }
  return value[0] === 'agent' ? value.slice(1) : value;
}
