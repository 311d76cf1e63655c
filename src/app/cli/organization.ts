import type { Command } from 'commander';
import { systemClock } from '../../core/index.ts';
import { createOauth } from '../../service/oauth/index.ts';
import {
  createOrganizations,
  type OrganizationSettings,
  type Organizations,
} from '../../service/organizations/index.ts';
import { createTrust } from '../../service/trust/index.ts';
import type { CliContext } from './context.ts';
import { printList, type JsonOption, toRow } from './print-list.ts';
import { withInstallation, type AuditedInstallation } from './with-installation.ts';

/** Adds `organization`: whom this HISP serves, and what belongs to whom. */
export function addOrganizationCommands(program: Command, context: CliContext): void {
  const withOrganizations = (
    work: (organizations: Organizations, installation: AuditedInstallation) => Promise<void>,
  ): Promise<void> =>
    withInstallation(context, (installation) =>
      work(createOrganizations({ ...installation, clock: systemClock }), installation),
    );

  const organization = program
    .command('organization')
    .description('the organizations that domains and clients belong to');
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
        context.note(
          `Next: openhisp domain add DOMAIN --organization ${id}, client create NAME --organization ${id}.`,
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
        printList(context, options, rows, ({ id, name, npi, ...counts }) =>
          toRow([
            id,
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
}

function withSettings(command: Command): Command {
  return command
    .option('--npi <npi>', 'NPI of the organization (type 2)')
    .option('--street <text>', 'street address')
    .option('--city <text>', 'city')
    .option('--state <text>', 'state, two letters')
    .option('--zip <text>', 'ZIP code')
    .option('--contact <line...>', 'whom to reach: name, role, telephone, mail; each a line');
}

function toSettings({ name, npi, contact, ...rest }: SettingOptions): OrganizationSettings {
  const { street, city, state, zip } = rest;
  const parts = Object.entries({ street, city, state, zip }).filter(([, text]) => text !== undefined);
  return {
    ...(name === undefined ? {} : { name }),
    ...(npi === undefined ? {} : { npi }),
    ...(contact === undefined ? {} : { contacts: contact }),
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
