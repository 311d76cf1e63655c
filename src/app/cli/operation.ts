import { InvalidArgumentError, type Command } from 'commander';
import { errorText, systemClock } from '../../core/index.ts';
import { loadMasterKey, masterKeyId, openVault, type StoredVault } from '../../platform/index.ts';
import type { Audit, AuditRecord } from '../../service/audit/index.ts';
import type { CliContext } from './context.ts';
import { withInstallation } from './with-installation.ts';

/** Adds `audit`, `vault` and `backup`: what an operator does besides running the service. */
export function addOperationCommands(program: Command, context: CliContext): void {
  addAuditCommands(program, context);
  addVaultCommands(program, context);
  program
    .command('backup <file>')
    .description('write a consistent copy of the database to a new file; the service may run')
    .action(async (file: string) => {
      await withInstallation(context, ({ storage }) => storage.backup(file));
      context.note('The master key is not in it: keep that elsewhere.');
    });
}

interface FindOptions {
  readonly action?: string;
  readonly actor?: string;
  readonly request?: string;
  readonly limit: number;
}

function addAuditCommands(program: Command, context: CliContext): void {
  const audit = program.command('audit').description('who did what: the audit chain');
  audit
    .command('verify')
    .description('walk the whole chain; ends with 1 if it is broken')
    .action(() =>
      withAudit(context, async (chain) => {
        const report = await chain.verifyChain();
        context.print(
          `${report.eventCount} events, ${report.firstSequence ?? 0} to ${report.lastSequence ?? 0}`,
        );
        context.print(`last hash ${report.lastHash ?? 'none'}`);
      }),
    );
  audit
    .command('list')
    .description('show events as JSON lines, newest first')
    .option('--action <action>', 'for example token.issue')
    .option('--actor <actor>', 'a client id, or operator:NAME')
    .option('--request <id>', 'the X-Request-Id of one request')
    .option('--limit <number>', 'at most so many', readLimit, 100)
    .action((options: FindOptions) =>
      withAudit(context, async (chain) => {
        const found = await chain.find({ ...options, requestId: options.request });
        found.forEach((record: AuditRecord) => context.print(JSON.stringify(record)));
      }),
    );
}

function readLimit(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('a number from 1 to 9999');
}

async function withAudit(context: CliContext, work: (audit: Audit) => Promise<void>): Promise<void> {
  try {
    await withInstallation(context, ({ audit }) => work(audit));
  } catch (error) {
    context.note(errorText(error));
    context.setExitCode(1);
  }
}

function addVaultCommands(program: Command, context: CliContext): void {
  const vault = program.command('vault').description('the keys that protect what lies in the database');
  vault
    .command('rotate-data-key')
    .description('make a new data key; what is sealed already stays readable')
    .action(() =>
      withVault(context, async (opened) => context.print(`data key ${await opened.rotateDataKey()}`)),
    );
  vault
    .command('change-master-key <newKeyFile>')
    .description('wrap all data keys with the key of another file, which is made if missing')
    .action((file: string) =>
      withVault(context, async (opened) => {
        const key = loadMasterKey({ file, createsFile: true });
        context.print(`${await opened.rewrap(key)} data keys are now under master key ${masterKeyId(key)}`);
        context.note(
          'Set OPENHISP_VAULT_MASTER_KEY_FILE to the new file before the next start, and destroy the old key.',
        );
      }),
    );
}

async function withVault(context: CliContext, work: (vault: StoredVault) => Promise<void>): Promise<void> {
  await withInstallation(context, async ({ storage, config }) => {
    const masterKey = loadMasterKey({ base64: config.vault.masterKey, file: config.vault.masterKeyFile });
    await work(await openVault({ storage, masterKey, clock: systemClock }));
  });
}
