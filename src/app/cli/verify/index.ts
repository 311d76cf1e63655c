import { InvalidArgumentError, type Command } from 'commander';
import { errorText } from '../../../core/index.ts';
import { acceptRow } from '../../../service/integrity/index.ts';
import { guardedTables } from '../../server/index.ts';
import type { CliContext } from '../context.ts';
import { UsageError, requireVisible } from '../describe-error.ts';
import { readNamedCheckpoints } from '../read-checkpoints.ts';
import { withInstallation } from '../with-installation.ts';
import { verifyInstallation, type VerifyFinding } from './verify-installation.ts';
import { printLines } from '../print-list.ts';

export { verifyInstallation } from './verify-installation.ts';

interface VerifyFlags {
  readonly json?: true;
  readonly checkpoints?: string[];
  readonly accept?: { readonly table: string; readonly row: string };
  readonly reason?: string;
}

/** Adds `verify`, which checks that the stored data is unchanged. */
export function addVerifyCommand(command: Command, context: CliContext): void {
  command
    .option('--json', 'as JSON')
    .option('--checkpoints <file...>', 'additional files of audit checkpoints')
    .option(
      '--accept <table:row>',
      'accept a row as it is: write a new MAC for it; requires --reason',
      readRow,
    )
    .option('--reason <text>', 'the reason, for the audit trail')
    .action(async (flags: VerifyFlags) => {
      if (flags.accept !== undefined) return accept(context, flags.accept, flags.reason);
      const checkpoints = await readNamedCheckpoints(flags.checkpoints ?? []);
      try {
        await verify(context, flags, checkpoints);
      } catch (error) {
        printFindings(context, flags, [unusable(error)]);
      }
    });
}

async function verify(
  context: CliContext,
  flags: VerifyFlags,
  checkpoints: readonly string[],
): Promise<void> {
  await withInstallation(context, async (installation) =>
    printFindings(context, flags, await verifyInstallation(installation, checkpoints)),
  );
}

async function accept(
  context: CliContext,
  named: { readonly table: string; readonly row: string },
  reason = '',
): Promise<void> {
  if (reason.trim() === '')
    throw new UsageError('--reason: missing. --accept needs it, for the audit trail.');
  await withInstallation(context, (installation) =>
    acceptRow(installation, guardedTables, named, requireVisible('--reason', reason)),
  );
  context.print(`${named.table}:${named.row} is accepted as it is.`);
}

function printFindings(context: CliContext, flags: VerifyFlags, findings: readonly VerifyFinding[]): void {
  const isIntact = findings.every((finding) => finding.isIntact);
  if (flags.json === true) context.print(JSON.stringify({ intact: isIntact, findings }, undefined, 2));
  else findings.forEach((finding) => printFinding(context, finding));
  if (!isIntact) context.setExitCode(1);
}

function printFinding(context: CliContext, { check, isIntact, text, advice }: VerifyFinding): void {
  printLines(context, [
    `${(isIntact ? 'ok' : 'ERROR').padEnd(8)}${check}: ${text}`,
    ...(advice === '' ? [] : [`        -> ${advice}`]),
  ]);
}

function unusable(error: unknown): VerifyFinding {
  return {
    check: 'database',
    isIntact: false,
    text: errorText(error),
    advice: 'openhisp doctor examines the rest.',
  };
}

function readRow(text: string): { table: string; row: string } {
  const at = text.indexOf(':');
  if (at > 0) return { table: text.slice(0, at), row: text.slice(at + 1) };
  throw new InvalidArgumentError('It must be TABLE:ROW, as "openhisp verify" prints it.');
}
