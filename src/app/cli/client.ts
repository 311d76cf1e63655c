import { InvalidArgumentError, type Command } from 'commander';
import { readDecimal, systemClock } from '../../core/index.ts';
import {
  createOauth,
  scopeNames,
  usualScopes,
  type Client,
  type ClientLimits,
  type ClientSettings,
  type ClientStore,
  type IssuedCredentials,
} from '../../service/oauth/index.ts';
import type { CliContext } from './context.ts';
import { printList, type JsonOption, toRow } from './print-list.ts';
import { noteUnhosted } from './note-unhosted.ts';
import { withInstallation, type AuditedInstallation } from './with-installation.ts';

/** Adds `client`: clients of the REST API (Decision 0006). A secret is shown once, when it is created. */
export function addClientCommands(client: Command, context: CliContext): void {
  addCreate(client, context);
  addUpdate(client, context);
  addSecretCommands(client, context);
  client
    .command('list')
    .description('list all clients')
    .option('--json', 'as JSON')
    .action((options: JsonOption) =>
      withClients(context, async (clients) => printList(context, options, await clients.list(), formatLine)),
    );
  client
    .command('show <clientId>')
    .description('show one client as JSON')
    .action((clientId: string) =>
      withClients(context, async (clients) =>
        context.print(JSON.stringify(await clients.get(clientId), undefined, 2)),
      ),
    );
  client
    .command('disable <clientId>')
    .description('revoke the tokens of a client and refuse new ones')
    .action((clientId: string) => withClients(context, (clients) => clients.disable(clientId)));
  client
    .command('enable <clientId>')
    .description('enable a disabled client again')
    .action((clientId: string) => withClients(context, (clients) => clients.enable(clientId)));
}

interface SettingOptions {
  readonly organization?: string;
  readonly name?: string;
  readonly scope?: string[];
  /** True if the option has no value. */
  readonly address?: string[] | true;
  readonly limit?: Record<string, number>;
  readonly finalDelivery?: boolean;
  readonly dataUseAccepted?: true;
}

function addCreate(client: Command, context: CliContext): void {
  withSettings(
    client.command('create <name>').description('create a client and show its id and secret, once'),
  )
    .option('--client-id <id>', 'a client id of your choice')
    .option('--json', 'as JSON')
    .action((name: string, options: SettingOptions & { clientId?: string; json?: true }) =>
      withClients(context, async (clients, installation) => {
        const issued = await clients.create({
          ...toSettings(options),
          name,
          scopes: options.scope ?? usualScopes,
          ...(options.clientId === undefined ? {} : { clientId: options.clientId }),
        });
        printCredentials(context, issued, options.json === true);
        await noteUnhosted(context, installation, addressesOf(options) ?? []);
      }),
    );
}

function addUpdate(client: Command, context: CliContext): void {
  withSettings(
    client.command('update <clientId>').description('change the given settings and keep the others'),
  )
    .option('--name <name>', 'a new name')
    .action((clientId: string, options: SettingOptions) =>
      withClients(context, async (clients, installation) => {
        context.print(formatLine(await clients.update(clientId, toSettings(options))));
        await noteUnhosted(context, installation, addressesOf(options) ?? []);
      }),
    );
}

function addSecretCommands(client: Command, context: CliContext): void {
  client
    .command('rotate-secret <clientId>')
    .description('create a second secret and show it once; the first stays valid until it is revoked')
    .option('--json', 'as JSON')
    .action((clientId: string, options: { json?: true }) =>
      withClients(context, async (clients) =>
        printCredentials(context, await clients.rotateSecret(clientId), options.json === true),
      ),
    );
  client
    .command('revoke-secret <clientId> <secretId>')
    .description('revoke a secret and the tokens issued to it')
    .option('--force', 'allow it for the only secret of the client')
    .action((clientId: string, secretId: string, options: { force?: true }) =>
      withClients(context, (clients) =>
        clients.revokeSecret(clientId, secretId, { isForced: options.force === true }),
      ),
    );
}

function withSettings(command: Command): Command {
  return command
    .option('--organization <id>', "the organization that it belongs to; at first the operator's own")
    .option(
      '--scope <scope...>',
      `one or more of ${scopeNames.join(', ')}; at first ${usualScopes.join(', ')}`,
    )
    .option(
      '--address [address...]',
      'Direct addresses of the client; @domain for all addresses of a domain; without one, none',
    )
    .option('--limit <name=number...>', 'limits of the client, for example sendsPerSecond=50', collectLimit)
    .option('--final-delivery', 'sends request the dispatched MDN by default')
    .option('--no-final-delivery', 'sends do not request it by default')
    .option('--data-use-accepted', 'the client accepted the data-use rule of the directory today');
}

function collectLimit(text: string, limits: Record<string, number> = {}): Record<string, number> {
  const [name = '', value = ''] = text.split('=', 2);
  const number = readDecimal(value);
  if (name === '' || Number.isNaN(number))
    throw new InvalidArgumentError('It must have the form name=number.');
  return { ...limits, [name]: number };
}

const addressesOf = ({ address }: SettingOptions): readonly string[] | undefined =>
  address === true ? [] : address;

function toSettings(options: SettingOptions): ClientSettings {
  return {
    ...(options.organization === undefined ? {} : { organizationId: options.organization }),
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.scope === undefined ? {} : { scopes: options.scope }),
    ...(options.address === undefined ? {} : { directAddresses: addressesOf(options) ?? [] }),
    ...(options.limit === undefined ? {} : { limits: options.limit as ClientLimits }),
    ...(options.finalDelivery === undefined ? {} : { requestFinalDelivery: options.finalDelivery }),
    ...(options.dataUseAccepted === undefined ? {} : { dataUseAcceptedAt: systemClock.now() }),
  };
}

async function withClients(
  context: CliContext,
  work: (clients: ClientStore, installation: AuditedInstallation) => Promise<void>,
): Promise<void> {
  await withInstallation(context, (installation) =>
    work(createOauth({ ...installation, clock: systemClock }).clients, installation),
  );
}

function printCredentials(context: CliContext, issued: IssuedCredentials, asJson: boolean): void {
  if (asJson) return context.print(JSON.stringify(issued));
  context.print(`client_id      ${issued.clientId}`);
  context.print(`client_secret  ${issued.clientSecret}`);
  context.print(`secret id      ${issued.secretId}`);
  context.note('The secret is stored only as a hash: save it now.');
}

function formatLine(client: Client): string {
  const state = client.disabledAt === undefined ? 'active' : 'disabled';
  const secrets = client.secrets.map((secret) => secret.secretId).join(',');
  return toRow([
    client.clientId,
    state,
    client.name,
    client.scopes.join(' '),
    client.directAddresses.join(' '),
    secrets,
  ]);
}
