/**
 * The command line: a file for each group of commands, a folder for a large group; thin calls into the
 * rest.
 * Used by `main.ts` alone; groups share `context.ts` and `with-installation.ts`.
 * Begin with `createProgram`, which lists the groups and loads the one that is called.
 */
import { Command, Option } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import type { CliContext } from './context.ts';
import type { NamedInstallation } from './find-installation.ts';

type AddCommands = (command: Command, context: CliContext) => void;

/** A command as the list of all shows it, and what adds its options, action and commands to it. */
type Row = readonly [
  usage: string,
  description: string,
  load: () => Promise<AddCommands>,
  hasOptions?: 'with options',
];

/** All commands. Only the one that is called is loaded, so that each starts at once. */
const rows: readonly Row[] = [
  [
    'sandbox',
    'start this HISP, a partner, DNS, a CA and a webhook receiver on loopback',
    async () => (await import('./sandbox.ts')).addSandboxCommand,
    'with options',
  ],
  [
    'init',
    'create an installation in the folder of --data-dir: database, master key, node id',
    async () => (await import('./init.ts')).addInitCommand,
    'with options',
  ],
  [
    'serve',
    'run the HISP of the data folder, as configured (see docs/operations.md)',
    async () => (await import('./serve.ts')).addServeCommand,
  ],
  [
    'operator',
    'the people who may use the console',
    async () => (await import('./operator.ts')).addOperatorCommands,
  ],
  [
    'node',
    'the processes that serve from this database',
    async () => (await import('./node.ts')).addNodeCommands,
  ],
  [
    'directory',
    'load, inspect and roll back the provider directory',
    async () => (await import('./directory/index.ts')).addDirectoryCommands,
  ],
  [
    'organization',
    'the organizations that domains and clients belong to',
    async () => (await import('./organization.ts')).addOrganizationCommands,
  ],
  [
    'client',
    'the systems that may call the REST API',
    async () => (await import('./client.ts')).addClientCommands,
  ],
  [
    'edge',
    'accounts of EHR software and mail programs that do not speak the REST API',
    async () => (await import('./edge.ts')).addEdgeCommands,
  ],
  ['address', 'the hosted Direct addresses', async () => (await import('./address.ts')).addAddressCommands],
  ['domain', 'the hosted Direct domains', async () => (await import('./trust.ts')).addDomainCommands],
  [
    'key',
    'certificates and private keys of the hosted domains and addresses',
    async () => (await import('./trust.ts')).addKeyCommands,
  ],
  [
    'anchor',
    'the CA certificates that a domain trusts',
    async () => (await import('./trust.ts')).addAnchorCommands,
  ],
  [
    'bundle',
    'published trust bundles, fetched regularly',
    async () => (await import('./trust.ts')).addBundleCommands,
  ],
  [
    'webhook',
    'webhooks of clients and their dead letters',
    async () => (await import('./webhook.ts')).addWebhookCommands,
  ],
  [
    'message',
    'find, explain, retry and end sent messages, and send a test',
    async () => (await import('./message/index.ts')).addMessage,
  ],
  ['queue', 'the delivery queue, by destination', async () => (await import('./message/index.ts')).addQueue],
  [
    'inbound',
    'list and explain rejected mail from other HISPs',
    async () => (await import('./message/index.ts')).addInbound,
  ],
  [
    'legal-hold',
    'messages, addresses and organizations whose mail must not be deleted',
    async () => (await import('./legal-hold.ts')).addLegalHoldCommands,
  ],
  [
    'evidence',
    'evidence of delivery, and of operation',
    async () => (await import('./evidence/index.ts')).addEvidenceCommands,
  ],
  [
    'usage',
    'what was sent, by month, organization, client and domain',
    async () => (await import('./usage.ts')).addUsageCommand,
    'with options',
  ],
  [
    'mail',
    'inbound mail that could not be processed (dead letters)',
    async () => (await import('./mail.ts')).addMailCommands,
  ],
  [
    'verify',
    'check all stored data: database, audit chain, MACs, encrypted values, directory; ends with 1 if data was changed or is missing',
    async () => (await import('./verify/index.ts')).addVerifyCommand,
    'with options',
  ],
  ['audit', 'list and verify the audit trail', async () => (await import('./audit.ts')).addAuditCommands],
  [
    'vault',
    'the keys that encrypt data in the database',
    async () => (await import('./operation.ts')).addVaultCommands,
  ],
  [
    'backup <file>',
    'write a consistent copy of the database to a new file; the service may run',
    async () => (await import('./operation.ts')).addBackupCommand,
  ],
  [
    'storage',
    'move the database from SQLite to PostgreSQL',
    async () => (await import('./storage.ts')).addStorageCommands,
  ],
  [
    'doctor [domain]',
    'check the installation and its public DNS, mail and TLS services; ends with 1 if there is a problem',
    async () => (await import('./doctor.ts')).addDoctorCommand,
    'with options',
  ],
  [
    'agent',
    'seal, open and discover without an installation; each prints one JSON object',
    async () => (await import('./agent.ts')).addAgentCommands,
    'with options',
  ],
];

/**
 * The command line for the given first word; without one that is known, the names of all commands, for help
 * and for the error. `named` is filled in before a command runs.
 */
export async function createProgram(
  context: CliContext,
  named: NamedInstallation,
  firstWord?: string,
): Promise<Command> {
  const program = openProgram(context, named);
  const called = rows.filter(([usage]) => usage.replace(/ .*/, '') === firstWord);
  await addCommands(program, context, called);
  if (called.length === 0)
    for (const [usage, description, , hasOptions] of rows) {
      const listed = program.command(usage).description(description);
      if (hasOptions !== undefined) listed.addOption(new Option('--options').hideHelp());
    }
  return program;
}

async function addCommands(program: Command, context: CliContext, called: readonly Row[]): Promise<void> {
  for (const [usage, description, load] of called)
    (await load())(program.command(usage).description(description), context);
}

function openProgram(context: CliContext, named: NamedInstallation): Command {
  const program = new Command('openhisp')
    .description('A HISP: provider directory and Direct secure messaging')
    .version(packageJson.version)
    .option('--as <name>', 'your name for the audit trail; default OPENHISP_OPERATOR, else your login name')
    .on('option:as', (name: string) => context.setOperator(name))
    .option('--data-dir <folder>', 'the installation to work on (or OPENHISP_DATA_DIR)')
    .option('--config <file>', 'its configuration file, which may name the folder (or OPENHISP_CONFIG)')
    .showHelpAfterError('(add --help for the options)');
  program.hook('preAction', () => void Object.assign(named, program.opts<NamedInstallation>()));
  return program;
}

/** All commands, loaded. */
export async function createWholeProgram(context: CliContext): Promise<Command> {
  const program = openProgram(context, {});
  await addCommands(program, context, rows);
  return program;
}

/** The first word that is neither a global option nor its value; of `help`, the word behind it. */
export function findCommand(words: readonly string[]): string | undefined {
  const [word, ...rest] = words;
  if (word === '--data-dir' || word === '--config' || word === '--as') return findCommand(rest.slice(1));
  return word === 'help' || /^--(?:data-dir|config|as)=/.test(word ?? '') ? findCommand(rest) : word;
}
