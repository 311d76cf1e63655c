import { open, rename, rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { systemClock, toCsvLine } from '../../../core/index.ts';
import { addressKey, parseDirectAddress } from '../../../lib/values/index.ts';
import { listOptOuts, setOptOut } from '../../../service/directory/index.ts';
import type { ContributionRow } from '../../../service/hosting/index.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../describe-error.ts';
import { toRow } from '../print-list.ts';
import { readTime, timeForms } from '../read-time.ts';
import { withInstallation, type AuditedInstallation } from '../with-installation.ts';

interface ContributeOptions {
  readonly out?: string;
  readonly report?: string;
  readonly since?: Date;
  readonly operator?: string;
  readonly optOut?: readonly string[];
  readonly optIn?: readonly string[];
  readonly listOptOuts?: true;
}

/** Rows that are printed; the report has all. */
const printedRows = 20;

/** Adds `directory contribute`: our addresses as a file for the aggregated directory. */
export function addContributeCommand(directory: Command, context: CliContext): void {
  directory
    .command('contribute')
    .description(
      'write the listed addresses of this HISP as a file for the aggregated directory, without those that fail its checks; or keep addresses out of it',
    )
    .option('--out <file>', 'the file, CSV; an existing one is replaced when the new one is whole')
    .option(
      '--since <time>',
      `only what changed since, with a column action (change or remove): ${timeForms()}`,
      readTime,
    )
    .option('--report <file>', 'write the result of each address to a new file, as CSV')
    .option('--operator <name>', 'the name of this HISP in the file; default: smtp.hostname')
    .option('--opt-out <address...>', 'keep addresses out of this file and the next ones')
    .option('--opt-in <address...>', 'let addresses in again')
    .option('--list-opt-outs', 'print the addresses that are kept out')
    .action((options: ContributeOptions) =>
      withInstallation(context, async (installation) => {
        const { out, optOut = [], optIn = [] } = options;
        if (out === undefined && options.listOptOuts !== true && optOut.length + optIn.length === 0)
          throw new UsageError('Add --out FILE, --opt-out ADDRESS, --opt-in ADDRESS or --list-opt-outs.');
        if (out === undefined && (options.report ?? options.since ?? options.operator) !== undefined)
          throw new UsageError('--since, --report and --operator go with --out.');
        await changeOptOuts(context, installation, options);
        if (options.listOptOuts === true)
          for (const address of await listOptOuts(installation.storage)) context.print(address);
        if (out !== undefined) await writeContribution(context, installation, { ...options, out });
      }),
    );
}

async function changeOptOuts(
  context: CliContext,
  { storage, audit, ...installation }: AuditedInstallation,
  { optOut = [], optIn = [] }: ContributeOptions,
): Promise<void> {
  const { createTrust } = await import('../../../service/trust/index.ts');
  const trust = createTrust({ storage, audit, ...installation, clock: systemClock });
  const addresses = [...optOut, ...optIn].map((text) => parseDirectAddress(text));
  // A misspelt address would be given away although its owner does not want it.
  for (const address of addresses)
    if ((await trust.findAddress(address)) === undefined)
      throw new UsageError(`${address} is not a hosted address. Nothing was changed.`);
  for (const [index, address] of addresses.entries()) {
    const isOut = index < optOut.length;
    const isChanged = await setOptOut({ storage, audit, clock: systemClock }, addressKey(address), isOut);
    const state = isOut ? 'kept out' : 'let in';
    context.note(`${address}: ${isChanged ? state : `was ${state} already`}.`);
  }
}

async function writeContribution(
  context: CliContext,
  { storage, audit, config, ...installation }: AuditedInstallation,
  { out, report: reportFile, since, operator }: ContributeOptions & { readonly out: string },
): Promise<void> {
  const { createTrust } = await import('../../../service/trust/index.ts');
  const trust = createTrust({ storage, audit, ...installation, clock: systemClock });
  const report = reportFile === undefined ? undefined : await open(reportFile, 'wx', 0o600);
  const part = `${out}.part`;
  const file = await open(part, 'w', 0o600);
  let shown = 0;
  try {
    await report?.writeFile(`${toCsvLine(['address', 'outcome', 'CHECK_FAIL_REASON', 'text'])}\r\n`);
    // Loaded here: no other command of a directory needs it.
    const { contributeAddresses } = await import('../../../service/hosting/index.ts');
    const counts = await contributeAddresses(
      { storage, audit, clock: systemClock, trust },
      {
        hispOperator: operator ?? config.smtp.hostname,
        since,
        write: async (text) => void (await file.write(text)),
        report: async (rows) => {
          await report?.write(rows.map((row) => `${toCsvLine(cellsOf(row))}\r\n`).join(''));
          for (const row of rows.filter(({ outcome }) => outcome === 'left-out'))
            if (shown++ < printedRows) context.print(toRow(cellsOf(row)));
        },
      },
    );
    await file.sync();
    await file.close();
    await rename(part, out);
    if (shown > printedRows)
      context.note(`${shown - printedRows} more are left out: --report FILE lists all.`);
    context.print(
      `${counts.written} written, ${counts.removed} to be removed, ${counts['left-out']} left out: ${out}`,
    );
    if (since !== undefined)
      context.note(
        'These are the changes of entries. If a key was imported or retired, or a certificate expired since, write the full file: leave out --since.',
      );
    if (counts['left-out'] > 0) context.setExitCode(1);
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(part, { force: true });
    throw error;
  } finally {
    await report?.close();
  }
}

function cellsOf({ address, outcome, codes, text }: ContributionRow): readonly string[] {
  return [address, outcome, codes.join(' '), text];
}
