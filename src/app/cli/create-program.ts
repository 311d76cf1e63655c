/**
 * The command line: a file for each group of commands, a folder for a large group; thin calls into the
 * rest.
 * Used by `main.ts` alone; groups share `context.ts` and `with-installation.ts`.
 * Begin with `createProgram`, which lists the groups and loads the one that is called.
 */
import { Command } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import type { CliContext } from './context.ts';
import type { NamedInstallation } from './find-installation.ts';

type AddCommands = (program: Command, context: CliContext) => void;

/** The groups of commands. Only the one that is called is loaded, so that a small command starts at once. */
const groups: readonly (readonly [names: readonly string[], load: () => Promise<AddCommands>])[] = [
  [['sandbox'], async () => (await import('./sandbox.ts')).addSandboxCommand],
  [['init'], async () => (await import('./init.ts')).addInitCommand],
  [['serve'], async () => (await import('./serve.ts')).addServeCommand],
  [['operator'], async () => (await import('./operator.ts')).addOperatorCommands],
  [['directory'], async () => (await import('./directory/index.ts')).addDirectoryCommands],
  [['client'], async () => (await import('./client.ts')).addClientCommands],
  [['edge'], async () => (await import('./edge.ts')).addEdgeCommands],
  [['address'], async () => (await import('./address.ts')).addAddressCommands],
  [['domain', 'key', 'anchor', 'bundle'], async () => (await import('./trust.ts')).addTrustCommands],
  [['webhook'], async () => (await import('./webhook.ts')).addWebhookCommands],
  [['message', 'queue', 'inbound'], async () => (await import('./message/index.ts')).addMessageCommands],
  [['evidence'], async () => (await import('./evidence/index.ts')).addEvidenceCommands],
  [['mail'], async () => (await import('./mail.ts')).addMailCommands],
  [['verify'], async () => (await import('./verify/index.ts')).addVerifyCommand],
  [['audit'], async () => (await import('./audit.ts')).addAuditCommands],
  [['vault', 'backup'], async () => (await import('./operation.ts')).addOperationCommands],
  [['storage'], async () => (await import('./storage.ts')).addStorageCommands],
  [['doctor'], async () => (await import('./doctor.ts')).addDoctorCommand],
  [['agent'], async () => (await import('./agent.ts')).addAgentCommands],
];

/**
 * The command line for the given first word; without one that is known, all of it, so that help lists
 * everything. `named` is filled in before a command runs.
 */
export async function createProgram(
  context: CliContext,
  named: NamedInstallation,
  firstWord?: string,
): Promise<Command> {
  const program = new Command('openhisp')
    .description('A HISP: provider directory and Direct secure messaging')
    .version(packageJson.version)
    .option('--as <name>', 'your name for the audit trail; default OPENHISP_OPERATOR, else your login name')
    .on('option:as', (name: string) => context.setOperator(name))
    .option('--data-dir <folder>', 'the installation to work on (or OPENHISP_DATA_DIR)')
    .option('--config <file>', 'its configuration file, which may name the folder (or OPENHISP_CONFIG)')
    .showHelpAfterError('(add --help for the options)');
  program.hook('preAction', () => void Object.assign(named, program.opts<NamedInstallation>()));
  const called = groups.filter(([names]) => names.includes(firstWord ?? ''));
  for (const [, load] of called.length > 0 ? called : groups) (await load())(program, context);
  return program;
}

/** The first word that is neither a global option nor its value. */
export function findCommand(words: readonly string[]): string | undefined {
  const [word, ...rest] = words;
  if (word === '--data-dir' || word === '--config') return findCommand(rest.slice(1));
  return /^--(?:data-dir|config)=/.test(word ?? '') ? findCommand(rest) : word;
}
