import { Command } from 'commander';
import { CodedError, errorText } from '../../core/index.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { addAgentCommands } from './agent.ts';
import { addClientCommands } from './client.ts';
import { createCliContext, type CliContext } from './context.ts';
import { addDirectoryCommands } from './directory/index.ts';
import { addOperationCommands } from './operation.ts';
import { addSandboxCommand } from './sandbox.ts';
import { addServeCommand } from './serve.ts';
import { addTrustCommands } from './trust.ts';

/** The whole command line. Each command is a thin call into a library or a service. */
export function createProgram(context: CliContext): Command {
  const program = new Command('openhisp')
    .description('A HISP: provider directory and Direct secure messaging')
    .version(packageJson.version)
    .showHelpAfterError('(add --help for the options)');
  addSandboxCommand(program, context);
  addServeCommand(program, context);
  addDirectoryCommands(program, context);
  addClientCommands(program, context);
  addTrustCommands(program, context);
  addOperationCommands(program, context);
  addAgentCommands(program, context);
  return program;
}

const context = createCliContext(process);
try {
  await createProgram(context).parseAsync(process.argv);
} catch (error) {
  context.note(error instanceof CodedError ? error.message : `openhisp failed: ${errorText(error)}`);
  if (!(error instanceof CodedError) && process.env['OPENHISP_DEBUG'] !== undefined) console.error(error);
  process.exitCode = 1;
}
