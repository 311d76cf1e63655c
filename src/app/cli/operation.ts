import { InvalidArgumentError, type Command } from 'commander';
import { rm } from 'node:fs/promises';
import { errorText, silentLog, systemClock } from '../../core/index.ts';
import {
  loadMasterKey,
  loadMasterKeys,
  masterKeyId,
  openStorage,
  openVault,
  type StoredVault,
} from '../../platform/index.ts';
import { createAudit, type Audit, type AuditRecord, type ChainReport } from '../../service/audit/index.ts';
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
      let report: ChainReport | undefined;
      await withInstallation(context, async ({ storage, audit }) => {
        await audit.recordNow({ action: 'backup.write', actor: 'operator', outcome: 'ok' });
        await storage.backup(file);
        report = await proveCopy(file);
      });
      context.print(`${file}: ${report?.eventCount} audit events, last hash ${report?.lastHash}`);
      context.note('The copy was opened and checked. The master key is not in it: keep that elsewhere.');
    });
}

/**
 * Opens the copy by itself, has the database check it, and verifies the audit chain. A copy that fails is deleted: it must not
 * pass for a backup.
 */
async function proveCopy(file: string): Promise<ChainReport> {
  try {
    const copy = await openStorage({ file });
    try {
      await copy.verify();
      const audit = createAudit({ storage: copy, clock: systemClock, log: silentLog });
      try {
        return await audit.verifyChain();
      } finally {
        await audit.close();
      }
    } finally {
      await copy.close();
    }
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    for (const suffix of ['-wal', '-shm']) await rm(`${file}${suffix}`, { force: true });
  }
}

interface FindOptions {
  readonly action?: string;
  readonly actor?: string;
  readonly outcome?: string;
  readonly request?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly before?: number;
  readonly limit: number;
  readonly all?: true;
}

/** Rows read at a time. */
const auditPage = 500;

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
    .option('--outcome <outcome>', 'ok, refused or failed')
    .option('--since <time>', 'from this time on, for example 2026-05-01 or 2026-05-01T08:00:00Z', readTime)
    .option('--until <time>', 'up to this time', readTime)
    .option('--before <sequence>', 'only events before this one: the last one of the page before', readLimit)
    .option('--limit <number>', 'at most so many', readLimit, 100)
    .option('--all', 'without a limit')
    .action((options: FindOptions) => withAudit(context, (chain) => listEvents(context, chain, options)));
}

async function listEvents(context: CliContext, chain: Audit, options: FindOptions): Promise<void> {
  let left = options.all === true ? Number.POSITIVE_INFINITY : options.limit;
  let { before } = options;
  while (left > 0 && !context.isOutputClosed()) {
    const limit = Math.min(left, auditPage);
    const found = await chain.find({ ...options, before, requestId: options.request, limit });
    found.forEach((record: AuditRecord) => context.print(JSON.stringify(record)));
    left -= found.length;
    before = found.at(-1)?.sequence;
    if (found.length < limit) return;
  }
  if (options.all !== true && before !== undefined) context.note(`More: --before ${before}`);
}

function readLimit(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('a number from 1 on');
}

function readTime(text: string): Date {
  const time = new Date(text);
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError('a date or a time such as 2026-05-01T08:00:00Z');
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
    const keys = loadMasterKeys(config.vault, false);
    await work(await openVault({ storage, ...keys, clock: systemClock }));
  });
}
