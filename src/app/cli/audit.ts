import { renameSync } from 'node:fs';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { systemClock } from '../../core/index.ts';
import {
  auditCsvHeader,
  toAuditCsv,
  readCheckpointFile,
  readStatement,
  renameCheckpointFile,
  statementTypes,
  type Audit,
  type AuditRecord,
  type Checkpoint,
} from '../../service/audit/index.ts';
import { continueAfterRestore } from '../../service/directory/index.ts';
import { renewMailboxes } from '../../service/edges/index.ts';
import type { CliContext } from './context.ts';
import { describeError, UsageError, requireVisible } from './describe-error.ts';
import { readNamedCheckpoints } from './read-checkpoints.ts';
import { readNamedText } from './read-named-file.ts';
import { readTime, timeForms } from './read-time.ts';
import { withInstallation, type AuditedInstallation } from './with-installation.ts';

/** Adds `audit`: lists, verifies and exports the audit trail. */
export function addAuditCommands(audit: Command, context: CliContext): void {
  addListCommand(audit, context);
  addVerifyCommands(audit, context);
  audit
    .command('public-key')
    .description('print the key that verifies checkpoints, as a JWK for your auditor')
    .action(() =>
      withAudit(context, async ({ audit: chain }) =>
        context.print(JSON.stringify(await chain.readPublicKey())),
      ),
    );
  audit
    .command('restart')
    .description(
      'continue after a restore from a backup: renames the checkpoint file, records that with the reason in the chain, and has mail programs read their mailboxes anew',
    )
    .requiredOption('--reason <text>', 'for the audit trail')
    .action((options: { reason: string }) => restart(context, requireVisible('--reason', options.reason)));
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
  readonly changes?: true;
  readonly csv?: true;
}

/** Rows read at a time. */
const auditPage = 500;

function addListCommand(audit: Command, context: CliContext): void {
  audit
    .command('list')
    .description('show events as JSON lines, newest first')
    .option('--action <action>', 'for example token.issue')
    .option('--actor <actor>', 'a client id, or operator:NAME')
    .option('--request <id>', 'the X-Request-Id of one request')
    .addOption(new Option('--outcome <outcome>', 'only these').choices(['ok', 'refused', 'failed']))
    .option('--since <time>', `from this time on: ${timeForms()}`, readTime)
    .option('--until <time>', 'up to this time', readTime)
    .option(
      '--before <sequence>',
      'only events before this sequence number: the last one of the previous page',
      readLimit,
    )
    .option('--limit <number>', 'maximum number of results', readLimit, 100)
    .option('--changes', 'only changes: no sign-ins, views and messages')
    .option('--csv', 'as CSV, for a spreadsheet')
    .option('--all', 'without a limit')
    .action((options: FindOptions) =>
      withAudit(context, ({ audit: chain }) => listEvents(context, chain, options)),
    );
}

async function listEvents(context: CliContext, chain: Audit, options: FindOptions): Promise<void> {
  let left = options.all === true ? Number.POSITIVE_INFINITY : options.limit;
  let { before } = options;
  let count = 0;
  if (options.csv === true) context.print(auditCsvHeader);
  const print = (record: AuditRecord): void =>
    context.print(options.csv === true ? toAuditCsv(record) : JSON.stringify(record));
  try {
    while (left > 0 && !context.isOutputClosed()) {
      const limit = Math.min(left, auditPage);
      const found = await chain.find({
        ...options,
        isChange: options.changes,
        before,
        requestId: options.request,
        limit,
      });
      found.forEach(print);
      count += found.length;
      left -= found.length;
      before = found.at(-1)?.sequence;
      if (found.length < limit) return;
    }
    if (options.all !== true && before !== undefined) context.note(`More: --before ${before}`);
  } finally {
    await recordList(chain, options, count);
  }
}

/** Afterwards, so that a list does not begin with itself. */
async function recordList(chain: Audit, options: FindOptions, count: number): Promise<void> {
  const { action, actor, outcome, request, since, until, before } = options;
  const times = { since: since?.toISOString(), until: until?.toISOString() };
  const conditions = Object.entries({ action, actor, outcome, request, before, ...times });
  await chain.recordNow({
    action: 'audit.list',
    actor: 'operator',
    outcome: 'ok',
    objects: {
      ...Object.fromEntries(
        conditions.filter((entry): entry is [string, string | number] => entry[1] !== undefined),
      ),
      count,
    },
  });
}

function addVerifyCommands(audit: Command, context: CliContext): void {
  audit
    .command('verify')
    .description('verify the whole chain and compare it with the checkpoints; ends with 1 if it is broken')
    .option('--checkpoints <file...>', 'additional checkpoint files')
    .action((options: { checkpoints?: string[] }) =>
      withAudit(context, async ({ audit: chain, config }) => {
        const exported = [
          ...(await readCheckpointFile(config.audit.checkpointFile)),
          ...(await readNamedCheckpoints(options.checkpoints ?? [])),
        ];
        const result = await chain.verifyChain(exported);
        context.print(
          `${result.eventCount} events, ${result.firstSequence ?? 0} to ${result.lastSequence ?? 0}`,
        );
        context.print(
          `${result.checkpointCount} checkpoints, up to event ${result.coveredTo ?? 'none'}; the next one covers what follows`,
        );
        context.print(`last hash ${result.lastHash ?? 'none'}`);
      }),
    );
  audit
    .command('verify-checkpoints <file>')
    .description('verify a file of checkpoints offline, without installation; ends with 1 if one is invalid')
    .requiredOption('--public-key <file>', 'the output of "openhisp audit public-key"')
    .action(async (file: string, options: { publicKey: string }) => {
      try {
        const key = await readPublicKey(options.publicKey);
        const last = await verifyCheckpoints(await readNamedCheckpoints([file]), key);
        context.print(JSON.stringify(last));
      } catch (error) {
        context.note(describeError(error));
        context.setExitCode(1);
      }
    });
}

async function readPublicKey(file: string): Promise<Uint8Array> {
  const text = await readNamedText(file);
  try {
    const { x } = JSON.parse(text) as { x?: unknown };
    const raw = Buffer.from(typeof x === 'string' ? x : '', 'base64url');
    if (raw.length === 32) return raw;
  } catch {
    // Not JSON.
  }
  throw new UsageError(`${file}: not an Ed25519 public key as a JWK.`);
}

/** All of one chain, each after the one before. Returns the last one. */
async function verifyCheckpoints(statements: readonly string[], key: Uint8Array): Promise<Checkpoint> {
  let last: Checkpoint | undefined;
  for (const [index, statement] of statements.entries()) {
    const next = await readStatement<Checkpoint>(statementTypes.checkpoint, statement, key);
    const follows =
      last === undefined || (next.chain === last.chain && next.last.sequence > last.last.sequence);
    if (!follows) throw new RangeError(`Line ${index + 1} does not continue the checkpoints before it.`);
    last = next;
  }
  if (last === undefined) throw new RangeError('The file has no checkpoint.');
  return last;
}

async function restart(context: CliContext, reason: string): Promise<void> {
  const { audit } = await context.loadConfig();
  // First: with the file in place a database that was reset is not opened.
  const last = (await readCheckpointFile(audit.checkpointFile)).at(-1);
  const renamed = await renameCheckpointFile(audit.checkpointFile, systemClock.now());
  try {
    await withInstallation(context, async ({ audit: chain, config, storage }) => {
      await renewMailboxes(storage, systemClock.now());
      await continueAfterRestore(storage, config.directory.snapshotDir);
      await chain.recordNow({
        action: 'audit.restart',
        actor: 'operator',
        outcome: 'ok',
        objects: { reason, ...(last && renamed && { setAside: renamed, lastCheckpoint: last }) },
      });
    });
  } catch (error) {
    if (renamed !== undefined) renameSync(renamed, audit.checkpointFile);
    throw error;
  }
  context.print(
    renamed === undefined
      ? `The restart is recorded. There are no checkpoints in ${audit.checkpointFile}.`
      : `The checkpoints are now in ${renamed}: keep them.`,
  );
}

async function withAudit(
  context: CliContext,
  work: (installation: AuditedInstallation) => Promise<void>,
): Promise<void> {
  try {
    await withInstallation(context, work);
  } catch (error) {
    context.note(describeError(error));
    context.setExitCode(1);
  }
}

function readLimit(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number from 1.');
}
