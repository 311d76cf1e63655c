import { Option, type Command } from 'commander';
import { systemClock, toCsvLine } from '../../core/index.ts';
import {
  monthsBefore,
  readUsage,
  usageGroups,
  type UsageGroup,
  type UsageRow,
} from '../../service/messaging/index.ts';
import { createOauth } from '../../service/oauth/index.ts';
import { createOrganizations } from '../../service/organizations/index.ts';
import { createTrust, requireHostedDomain } from '../../service/trust/index.ts';
import type { CliContext } from './context.ts';
import { printLines, toRow } from './print-list.ts';
import { withInstallation, type AuditedInstallation } from './with-installation.ts';

interface UsageOptions {
  readonly from?: string;
  readonly to?: string;
  readonly by: readonly UsageGroup[];
  readonly organization?: string;
  readonly client?: string;
  readonly domain?: string;
  readonly json?: true;
  readonly csv?: true;
}

const columns = ['messages', 'recipients', 'octets', 'delivered', 'failed', 'waiting'] as const;
const usualMonths = 12;

/** Adds `usage`: what was sent, from the daily counts. */
export function addUsageCommand(usage: Command, context: CliContext): void {
  usage
    .option('--from <month>', 'first month in UTC, for example 2026-01 (default: eleven months ago)')
    .option('--to <month>', 'last month (default: this one)')
    .addOption(
      new Option('--by <group...>', 'what the rows are told apart by')
        .choices(usageGroups)
        .default(['month']),
    )
    .option('--organization <id>', 'only clients of this organization')
    .option('--client <clientId>', 'only this client')
    .option('--domain <domain>', 'only messages from addresses of this domain')
    .option('--csv', 'as CSV, for a spreadsheet')
    .option('--json', 'as JSON')
    .action((options: UsageOptions) => printUsage(context, options));
}

async function printUsage(context: CliContext, options: UsageOptions): Promise<void> {
  await withInstallation(context, async (installation) => {
    const now = systemClock.now();
    const by = [...new Set(options.by)];
    const { rows, countedAt } = await readUsage(installation.storage, {
      from: options.from ?? monthsBefore(now, usualMonths - 1),
      to: options.to ?? monthsBefore(now, 0),
      by,
      organizationId: options.organization,
      clientId: options.client,
      domain: options.domain,
      limit: Number.MAX_SAFE_INTEGER - 1,
    });
    const { clients } = createOauth({ ...installation, clock: systemClock });
    if (rows.length === 0) await requireKnown(installation, options);
    if (options.json === true) return context.print(JSON.stringify({ countedAt, rows }, undefined, 2));
    const names = new Map((await clients.list()).map(({ clientId, name }) => [clientId, name]));
    const head = by.flatMap((group) => (group === 'client' ? ['client', 'name'] : [group]));
    const values = (row: UsageRow): (string | number)[] => [
      ...by.flatMap((group) =>
        group === 'client' ? [row.clientId, names.get(row.clientId) ?? ''] : [row[group]],
      ),
      ...columns.map((column) => row[column]),
    ];
    const lines = [[...head, ...columns], ...rows.map(values)];
    printLines(
      context,
      options.csv === true ? lines.map((line) => toCsvLine(line)) : lines.map((line) => toRow(line)),
    );
    if (options.csv !== true)
      context.note(
        countedAt === undefined
          ? 'Nothing was counted yet: a running server counts each minute.'
          : `Counted at ${countedAt.toISOString()}.`,
      );
    return undefined;
  });
}

/** An empty table for a misspelt name would say that nothing was sent. */
async function requireKnown(
  installation: AuditedInstallation,
  { organization, client, domain }: UsageOptions,
): Promise<void> {
  const services = { ...installation, clock: systemClock };
  if (organization !== undefined) await createOrganizations(services).get(organization);
  if (client !== undefined) await createOauth(services).clients.get(client);
  if (domain !== undefined) await requireHostedDomain(createTrust(services), domain);
}
