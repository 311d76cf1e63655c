import { InvalidArgumentError, type Command } from 'commander';
import { countOf, quoteForShell, readDecimal, systemClock } from '../../core/index.ts';
import {
  closeOrganization,
  reopenOrganization,
  type ClosingDependencies,
} from '../../service/hosting/index.ts';
import { createOauth } from '../../service/oauth/index.ts';
import {
  createOrganizations,
  limitNames,
  type OrganizationSettings,
  type Organizations,
} from '../../service/organizations/index.ts';
import { createTrust } from '../../service/trust/index.ts';
import type { CliContext } from './context.ts';
import { printList, type JsonOption, toRow } from './print-list.ts';
import { withInstallation, type AuditedInstallation } from './with-installation.ts';

/** Adds `organization`: whom this HISP serves, and what belongs to whom. */
export function addOrganizationCommands(organization: Command, context: CliContext): void {
  const withOrganizations = (
    work: (organizations: Organizations, installation: AuditedInstallation) => Promise<void>,
  ): Promise<void> =>
    withInstallation(context, (installation) =>
      work(createOrganizations({ ...installation, clock: systemClock }), installation),
    );

  withSettings(organization.command('add <name>').description('add an organization and show its id'))
    .option('--id <id>', 'an id of your choice: small letters, digits and hyphens')
    .action((name: string, options: SettingOptions & { id?: string }) =>
      withOrganizations(async (organizations) => {
        const { id } = await organizations.create({
          ...toSettings(options),
          name,
          ...(options.id === undefined ? {} : { id: options.id }),
        });
        context.print(id);
        const shown = quoteForShell(id);
        context.note(
          `Next: openhisp domain add DOMAIN --organization ${shown}, client create NAME --organization ${shown}.`,
        );
      }),
    );
  organization
    .command('list')
    .description('list the organizations with the number of their domains, addresses and clients')
    .option('--json', 'as JSON')
    .action((options: JsonOption) =>
      withOrganizations(async (organizations, installation) => {
        const owned = await readOwned(installation);
        const rows = (await organizations.list()).map((one) => {
          const { domains, clients, addresses } = owned.of(one.id);
          return { ...one, domains: domains.length, addresses, clients: clients.length };
        });
        printList(context, options, rows, ({ id, name, npi, closedAt, ...counts }) =>
          toRow([
            id,
            closedAt === undefined ? 'active' : 'closed',
            name,
            npi,
            `${counts.domains} domains`,
            `${counts.addresses} addresses`,
            `${counts.clients} clients`,
          ]),
        );
      }),
    );
  organization
    .command('show <id>')
    .description('show an organization with its domains and clients as JSON')
    .action((id: string) =>
      withOrganizations(async (organizations, installation) => {
        const one = await organizations.get(id);
        context.print(JSON.stringify({ ...one, ...(await readOwned(installation)).of(id) }, undefined, 2));
      }),
    );
  withSettings(organization.command('edit <id>').description('change the given settings and keep the others'))
    .option('--name <name>', 'a new name')
    .action((id: string, options: SettingOptions) =>
      withOrganizations(async (organizations) =>
        context.print(JSON.stringify(await organizations.update(id, toSettings(options)), undefined, 2)),
      ),
    );
  organization
    .command('close <id>')
    .description(
      'refuse its mail, disable its clients and plan the end of its keys; what is stored stays as long as the retention says',
    )
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .action((id: string, { reason }: { reason: string }) =>
      withOrganizations(async (organizations, installation) => {
        const deps = closingOf(organizations, installation);
        const { closedAt, domains, clients, unlisted } = await closeOrganization(deps, id, reason);
        context.print(`closed since ${closedAt.toISOString()}`);
        context.print(
          `${countOf(domains.length, 'domain')}, ${countOf(clients.length, 'client')} disabled now, ${countOf(unlisted, 'address', 'addresses')} taken out of the directory`,
        );
        context.note(
          'Its keys sign what is still queued for seven days; then they are retired. To undo it: openhisp organization reopen.',
        );
      }),
    );
  organization
    .command('reopen <id>')
    .description('accept mail of a closed organization again')
    .action((id: string) =>
      withOrganizations(async (organizations, installation) => {
        const keys = await reopenOrganization(closingOf(organizations, installation), id);
        if (keys === undefined) return context.note('It was open; nothing was changed.');
        context.note(
          `${countOf(keys, 'key')} of it stayed; import others for domains without one. Enable its clients (client enable) and list its addresses (address add) again.`,
        );
      }),
    );
  organization
    .command('move-domain <domain> <id>')
    .description(
      'give a domain with its addresses and keys to another organization; refused while a client outside that has addresses of it',
    )
    .action((domain: string, id: string) =>
      withInstallation(context, (installation) =>
        createTrust({ ...installation, clock: systemClock }).moveDomain(domain, id),
      ),
    );
}

interface SettingOptions {
  readonly name?: string;
  readonly npi?: string;
  readonly street?: string;
  readonly city?: string;
  readonly state?: string;
  readonly zip?: string;
  readonly contact?: string[];
  readonly limit?: Record<string, number | null>;
}

function withSettings(command: Command): Command {
  return command
    .option('--npi <npi>', 'NPI of the organization (type 2)')
    .option('--street <text>', 'street address')
    .option('--city <text>', 'city')
    .option('--state <text>', 'state, two letters')
    .option('--zip <text>', 'ZIP code')
    .option('--contact <line...>', 'whom to reach: name, role, telephone, mail; each a line')
    .option(
      '--limit <name=number...>',
      `what it may have, by ${limitNames.join(', ')}; name=none ends a limit`,
      collectLimit,
    );
}

function collectLimit(
  text: string,
  limits: Record<string, number | null> = {},
): Record<string, number | null> {
  const [name = '', value = ''] = text.split('=', 2);
  const number = value === 'none' ? null : readDecimal(value);
  if (name === '' || Number.isNaN(number))
    throw new InvalidArgumentError('It must have the form name=number or name=none.');
  return { ...limits, [name]: number };
}

function closingOf(organizations: Organizations, installation: AuditedInstallation): ClosingDependencies {
  const common = { ...installation, clock: systemClock };
  return {
    ...common,
    organizations,
    clients: createOauth(common).clients,
    trust: createTrust(common),
  };
}

function toSettings({ name, npi, contact, limit, ...rest }: SettingOptions): OrganizationSettings {
  const { street, city, state, zip } = rest;
  const parts = Object.entries({ street, city, state, zip }).filter(([, text]) => text !== undefined);
  return {
    ...(name === undefined ? {} : { name }),
    ...(npi === undefined ? {} : { npi }),
    ...(contact === undefined ? {} : { contacts: contact }),
    ...(limit === undefined ? {} : { limits: limit }),
    ...(parts.length === 0 ? {} : { postalAddress: Object.fromEntries(parts) }),
  };
}

/** What belongs to each organization. */
async function readOwned(installation: AuditedInstallation) {
  const common = { ...installation, clock: systemClock };
  const trust = createTrust(common);
  const owners = await trust.findOwners();
  const counts = await trust.countAddresses();
  const clients = await createOauth(common).clients.list();
  return {
    of(id: string) {
      const domains = [...owners].flatMap(([domain, owner]) => (owner === id ? [domain] : [])).sort();
      return {
        domains,
        addresses: domains.reduce((sum, domain) => sum + (counts.get(domain) ?? 0), 0),
        clients: clients
          .filter(({ organizationId }) => organizationId === id)
          .map(({ clientId, name }) => ({ clientId, name })),
      };
    },
  };
}
