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

type AddCommands = (program: Command, context: CliContext) => void;

/** A command as the list of all shows it, and whether it has options. */
type Summary = readonly [usage: string, description: string, hasOptions?: 'with options'];

interface Group {
  readonly commands: readonly Summary[];
  readonly load: () => Promise<AddCommands>;
}

/** The groups of commands. Only the one that is called is loaded, so that each starts at once. */
const groups: readonly Group[] = [
  {
    commands: [
      ['sandbox', 'start this HISP, a partner, DNS, a CA and a webhook receiver on loopback', 'with options'],
    ],
    load: async () => (await import('./sandbox.ts')).addSandboxCommand,
  },
  {
    commands: [
      [
        'init',
        'create an installation in the folder of --data-dir: database, master key, node id',
        'with options',
      ],
    ],
    load: async () => (await import('./init.ts')).addInitCommand,
  },
  {
    commands: [['serve', 'run the HISP of the data folder, as configured (see docs/operations.md)']],
    load: async () => (await import('./serve.ts')).addServeCommand,
  },
  {
    commands: [['operator', 'the people who may use the console']],
    load: async () => (await import('./operator.ts')).addOperatorCommands,
  },
  {
    commands: [['node', 'the processes that serve from this database']],
    load: async () => (await import('./node.ts')).addNodeCommands,
  },
  {
    commands: [['directory', 'load, inspect and roll back the provider directory']],
    load: async () => (await import('./directory/index.ts')).addDirectoryCommands,
  },
  {
    commands: [['organization', 'the organizations that domains and clients belong to']],
    load: async () => (await import('./organization.ts')).addOrganizationCommands,
  },
  {
    commands: [['client', 'the systems that may call the REST API']],
    load: async () => (await import('./client.ts')).addClientCommands,
  },
  {
    commands: [['edge', 'accounts of EHR software and mail programs that do not speak the REST API']],
    load: async () => (await import('./edge.ts')).addEdgeCommands,
  },
  {
    commands: [['address', 'the hosted Direct addresses']],
    load: async () => (await import('./address.ts')).addAddressCommands,
  },
  {
    commands: [
      ['domain', 'the hosted Direct domains'],
      ['key', 'certificates and private keys of the hosted domains and addresses'],
      ['anchor', 'the CA certificates that a domain trusts'],
      ['bundle', 'published trust bundles, fetched regularly'],
    ],
    load: async () => (await import('./trust.ts')).addTrustCommands,
  },
  {
    commands: [['webhook', 'webhooks of clients and their dead letters']],
    load: async () => (await import('./webhook.ts')).addWebhookCommands,
  },
  {
    commands: [
      ['message', 'find, explain, retry and end sent messages'],
      ['queue', 'the delivery queue, by destination'],
      ['inbound', 'list and explain rejected mail from other HISPs'],
    ],
    load: async () => (await import('./message/index.ts')).addMessageCommands,
  },
  {
    commands: [['legal-hold', 'messages, addresses and organizations whose mail must not be deleted']],
    load: async () => (await import('./legal-hold.ts')).addLegalHoldCommands,
  },
  {
    commands: [['evidence', 'evidence of delivery, and of operation']],
    load: async () => (await import('./evidence/index.ts')).addEvidenceCommands,
  },
  {
    commands: [['usage', 'what was sent, by month, organization, client and domain', 'with options']],
    load: async () => (await import('./usage.ts')).addUsageCommand,
  },
  {
    commands: [['mail', 'inbound mail that could not be processed (dead letters)']],
    load: async () => (await import('./mail.ts')).addMailCommands,
  },
  {
    commands: [
      [
        'verify',
        'check all stored data: database, audit chain, MACs, encrypted values, directory; ends with 1 if data was changed or is missing',
        'with options',
      ],
    ],
    load: async () => (await import('./verify/index.ts')).addVerifyCommand,
  },
  {
    commands: [['audit', 'list and verify the audit trail']],
    load: async () => (await import('./audit.ts')).addAuditCommands,
  },
  {
    commands: [
      ['vault', 'the keys that encrypt data in the database'],
      ['backup <file>', 'write a consistent copy of the database to a new file; the service may run'],
    ],
    load: async () => (await import('./operation.ts')).addOperationCommands,
  },
  {
    commands: [['storage', 'move the database from SQLite to PostgreSQL']],
    load: async () => (await import('./storage.ts')).addStorageCommands,
  },
  {
    commands: [
      [
        'doctor [domain]',
        'check the installation and its public DNS, mail and TLS services; ends with 1 if there is a problem',
        'with options',
      ],
    ],
    load: async () => (await import('./doctor.ts')).addDoctorCommand,
  },
  {
    commands: [
      [
        'agent',
        'seal, open and discover without an installation; each prints one JSON object',
        'with options',
      ],
    ],
    load: async () => (await import('./agent.ts')).addAgentCommands,
  },
];

const namesOf = ({ commands }: Group): readonly string[] =>
  commands.map(([usage]) => usage.replace(/ .*/, ''));

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
  const called = groups.filter((group) => namesOf(group).includes(firstWord ?? ''));
  for (const { load } of called) (await load())(program, context);
  if (called.length === 0)
    for (const [usage, description, hasOptions] of groups.flatMap(({ commands }) => commands)) {
      const listed = program.command(usage).description(description);
      if (hasOptions !== undefined) listed.addOption(new Option('--options').hideHelp());
    }
  return program;
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
  for (const { load } of groups) (await load())(program, context);
  return program;
}

/** The first word that is neither a global option nor its value; of `help`, the word behind it. */
export function findCommand(words: readonly string[]): string | undefined {
  const [word, ...rest] = words;
  if (word === '--data-dir' || word === '--config' || word === '--as') return findCommand(rest.slice(1));
  return word === 'help' || /^--(?:data-dir|config|as)=/.test(word ?? '') ? findCommand(rest) : word;
}
