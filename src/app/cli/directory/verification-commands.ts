import type { Command } from 'commander';
import type {
  DomainFigures,
  SourceFigures,
  VerificationStatus,
} from '../../../service/verification/index.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../describe-error.ts';
import { withInstallation } from '../with-installation.ts';
import { printLines } from '../print-list.ts';

const defaultDomains = 50;

// Not with the other commands of the directory, which need none of it.
const loadVerification = () => import('../../../service/verification/index.ts');

/** Adds `directory verification start|pause|status|report` (Decision 0027). */
export function addVerificationCommands(directory: Command, context: CliContext): void {
  const verification = directory
    .command('verification')
    .description('check which addresses of the directory can receive messages and are trusted');
  verification
    .command('start')
    .description('start verification of all addresses on the running nodes')
    .action(() =>
      withInstallation(context, async (at) => {
        await (await loadVerification()).setRunning(at, true);
        context.print('Verification is running; the nodes follow within seconds.');
      }),
    );
  verification
    .command('pause')
    .description('pause verification on all nodes; the results stay')
    .action(() =>
      withInstallation(context, async (at) => {
        await (await loadVerification()).setRunning(at, false);
        context.print('Verification is paused; the nodes follow within seconds.');
      }),
    );
  verification
    .command('status')
    .description('show progress and results')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: true }) =>
      withInstallation(context, async ({ storage }) => {
        const { readVerificationStatus, verifiedStates } = await loadVerification();
        const status = await readVerificationStatus(storage);
        if (json === true) context.print(JSON.stringify(status, null, 2));
        else printLines(context, formatStatus(status, verifiedStates));
      }),
    );
  verification
    .command('report')
    .description('show the results by source and by domain, those with the most untrusted addresses first')
    .option('--domains <count>', 'number of domains to show', parseCount, defaultDomains)
    .option('--json', 'print JSON')
    .action(({ json, domains: limit }: { json?: true; domains: number }) =>
      withInstallation(context, async ({ storage }) => {
        const { readDomainFigures, readSourceFigures } = await loadVerification();
        const sources = await readSourceFigures(storage);
        const domains = await readDomainFigures(storage, limit);
        const report = { sources, domains };
        if (json === true) context.print(JSON.stringify(report, null, 2));
        else printLines(context, formatReport(report));
      }),
    );
}

function formatStatus(
  { isRunning, domains, checkedDomains, dueDomains, counts, reasons }: VerificationStatus,
  states: readonly (keyof VerificationStatus['counts'])[],
): string[] {
  return [
    `Verification is ${isRunning ? 'running' : 'paused'}.`,
    `Domains: ${domains}, completed at least once: ${checkedDomains}, due now: ${dueDomains}`,
    ...states.map((state) => `  ${state}: ${counts[state]}`),
    ...(reasons.length === 0 ? [] : ['Reasons:']),
    ...reasons.map(({ state, reason, count }) => `  ${state} ${reason}: ${count}`),
  ];
}

interface Report {
  readonly sources: readonly SourceFigures[];
  readonly domains: readonly DomainFigures[];
}

function formatReport({ sources, domains }: Report): string[] {
  return [
    'By source:',
    ...sources.map(
      ({ source, addresses, counts }) => `  ${source}: ${addresses} addresses; ${formatCounts(counts)}`,
    ),
    'By domain:',
    ...domains.map(
      ({ domain, nameServer, counts, queries, checkedAt }) =>
        `  ${domain} (${nameServer}): ${formatCounts(counts)}; ${queries} queries; checked ${checkedAt ?? 'never'}`,
    ),
  ];
}

function formatCounts(counts: SourceFigures['counts']): string {
  const shown = Object.entries(counts).filter(([, count]) => count > 0);
  return shown.length === 0 ? 'none' : shown.map(([state, count]) => `${state} ${count}`).join(', ');
}

function parseCount(text: string): number {
  if (!/^[0-9]{1,7}$/.test(text)) throw new UsageError('--domains is a number');
  return Number(text);
}
