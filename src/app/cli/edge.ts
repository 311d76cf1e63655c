import { Option, type Command } from 'commander';
import { systemClock } from '../../core/index.ts';
import { defaultSettings } from '../../platform/index.ts';
import {
  acknowledgedByForms,
  createEdges,
  edgeProtocols,
  inboundForms,
  outboundForms,
  type EdgeAccount,
  type EdgeAccountStore,
  type EdgePolicies,
  type EdgeSettings,
  type IssuedPassword,
} from '../../service/edges/index.ts';
import { createOauth } from '../../service/oauth/index.ts';
import type { Webhooks } from '../../service/webhook/index.ts';
import type { CliContext } from './context.ts';
import { printList, type JsonOption, toRow } from './print-list.ts';
import { noteUnhosted } from './note-unhosted.ts';
import { withInstallation, type AuditedInstallation } from './with-installation.ts';
import { withWebhooks } from './with-webhooks.ts';

/** Adds `edge`: accounts of software that speaks no REST. A password is shown once, when it is made. */
export function addEdgeCommands(edge: Command, context: CliContext): void {
  addCreate(edge, context);
  addUpdate(edge, context);
  addPasswordCommands(edge, context);
  edge
    .command('list')
    .description('list all edge accounts')
    .option('--json', 'as JSON')
    .action((options: JsonOption) =>
      withAccounts(context, async (accounts) =>
        printList(context, options, await accounts.list(), formatLine),
      ),
    );
  edge
    .command('show <username>')
    .description('show one edge account as JSON')
    .action((username: string) =>
      withAccounts(context, async (accounts, webhooks) => {
        const account = await accounts.get(username);
        const targets: Record<string, object> = {};
        for (const [name, purpose] of [
          ['failuresTo', 'failures'],
          ['mailTo', 'mail'],
        ] as const) {
          const target = await webhooks.findEdgeTarget(account, purpose);
          if (target !== undefined) targets[name] = { webhookId: target.id, url: target.url };
        }
        context.print(JSON.stringify({ ...account, ...targets }, undefined, 2));
      }),
    );
  edge
    .command('post-failures <username> [url]')
    .description(
      'post failures and expiries of its messages to an endpoint of eCRNow, …/api/receiveReportabilityResponse; without an address no more',
    )
    .action((username: string, url: string | undefined) =>
      withAccounts(context, async (accounts, webhooks) =>
        context.print(sayChange[await webhooks.setEdgeTarget(await accounts.get(username), 'failures', url)]),
      ),
    );
  edge
    .command('hand-over <username> [url]')
    .description(
      'give what it receives to your own mail store, lmtp://host:port or smtp://host:port; without an address no more',
    )
    .action((username: string, url: string | undefined) =>
      withAccounts(context, async (accounts, webhooks) =>
        context.print(sayChange[await webhooks.setEdgeTarget(await accounts.get(username), 'mail', url)]),
      ),
    );
  edge
    .command('disable <username>')
    .description('end the sessions of an edge account at their next command, and refuse new ones')
    .action((username: string) => withAccounts(context, (accounts) => accounts.disable(username)));
  edge
    .command('enable <username>')
    .description('enable a disabled edge account again')
    .action((username: string) => withAccounts(context, (accounts) => accounts.enable(username)));
}

const sayChange = {
  created: 'The target is set.',
  moved: 'The target is changed.',
  enabled: 'The target was switched off and is on again.',
  removed: 'The target is removed.',
  none: 'Nothing to change.',
} as const;

interface SettingOptions {
  readonly address?: string[];
  readonly protocol?: string[];
  readonly finalDelivery?: boolean;
  readonly notices?: boolean;
  readonly sent?: boolean;
  readonly inbound?: EdgePolicies['inbound'];
  readonly outbound?: EdgePolicies['outbound'];
  readonly authorInstitution?: string;
  readonly acknowledgedBy?: EdgePolicies['acknowledgedBy'];
}

function addCreate(edge: Command, context: CliContext): void {
  withSettings(
    edge
      .command('create <clientId> <username>')
      .description('create an edge account of a client and show its password, once'),
  )
    .option('--json', 'as JSON')
    .action((clientId: string, username: string, options: SettingOptions & { json?: true }) =>
      withAccounts(context, async (accounts, _webhooks, installation) => {
        const addresses = options.address ?? [username];
        const issued = await accounts.create({
          ...toSettings(options),
          clientId,
          username,
          addresses,
          protocols: options.protocol ?? edgeProtocols,
        });
        printPassword(context, issued, options.json === true);
        await noteUnhosted(context, installation, addresses);
      }),
    );
}

function addUpdate(edge: Command, context: CliContext): void {
  withSettings(
    edge.command('update <username>').description('change the given settings and keep the others'),
  ).action((username: string, options: SettingOptions) =>
    withAccounts(context, async (accounts, _webhooks, installation) => {
      context.print(formatLine(await accounts.update(username, toSettings(options))));
      await noteUnhosted(context, installation, options.address ?? []);
    }),
  );
}

function addPasswordCommands(edge: Command, context: CliContext): void {
  edge
    .command('rotate-password <username>')
    .description('create a second password and show it once; the first stays valid until it is revoked')
    .option('--json', 'as JSON')
    .action((username: string, options: { json?: true }) =>
      withAccounts(context, async (accounts) =>
        printPassword(context, await accounts.rotatePassword(username), options.json === true),
      ),
    );
  edge
    .command('revoke-password <username> <passwordId>')
    .description('revoke one of two passwords')
    .action((username: string, passwordId: string) =>
      withAccounts(context, (accounts) => accounts.revokePassword(username, passwordId)),
    );
}

function withSettings(command: Command): Command {
  return command
    .option('--address <address...>', "of the client's addresses; @domain for all of a domain")
    .option('--protocol <protocol...>', `one or more of ${edgeProtocols.join(', ')}`)
    .option('--final-delivery', 'what it sends asks for the final delivery, unless it says otherwise')
    .option('--no-final-delivery', 'what it sends does not ask for it, unless it says otherwise')
    .option('--notices', 'its mailbox receives an MDN or DSN for each recipient of what it sends')
    .option('--no-notices', 'no such MDNs and DSNs in its mailbox')
    .option('--sent', 'what it sends is kept for its mailbox Sent (IMAP)')
    .option('--no-sent', 'no mailbox Sent')
    .addOption(
      new Option('--outbound <form>', 'how the documents that it sends go out').choices(outboundForms),
    )
    .option('--author-institution <XON>', 'of such packages: name^^^^^^^^^OID; empty for none')
    .addOption(
      new Option('--inbound <form>', 'how its mailbox shows received packages').choices(inboundForms),
    )
    .addOption(
      new Option('--acknowledged-by <act>', 'what acknowledges received mail').choices(acknowledgedByForms),
    );
}

function toSettings(options: SettingOptions): EdgeSettings {
  const policies: Partial<EdgePolicies> = {
    ...(options.finalDelivery === undefined ? {} : { requestsFinalDelivery: options.finalDelivery }),
    ...(options.notices === undefined ? {} : { noticesInMailbox: options.notices }),
    ...(options.sent === undefined ? {} : { keepsSent: options.sent }),
    ...(options.outbound === undefined ? {} : { outbound: options.outbound }),
    ...(options.authorInstitution === undefined ? {} : { authorInstitution: options.authorInstitution }),
    ...(options.inbound === undefined ? {} : { inbound: options.inbound }),
    ...(options.acknowledgedBy === undefined ? {} : { acknowledgedBy: options.acknowledgedBy }),
  };
  return {
    ...(options.address === undefined ? {} : { addresses: options.address }),
    ...(options.protocol === undefined ? {} : { protocols: options.protocol }),
    ...(Object.keys(policies).length === 0 ? {} : { policies }),
  };
}

async function withAccounts(
  context: CliContext,
  work: (
    accounts: EdgeAccountStore,
    webhooks: Webhooks,
    installation: AuditedInstallation,
  ) => Promise<unknown>,
): Promise<void> {
  await withInstallation(context, async (installation) => {
    const common = { ...installation, clock: systemClock };
    const { clients } = createOauth(common);
    const { attemptsPerMinute } = defaultSettings.edge;
    await withWebhooks(installation, async (webhooks) => {
      const { accounts } = createEdges({ ...common, clients, attemptsPerMinute });
      await work(accounts, webhooks, installation);
    });
  });
}

function printPassword(context: CliContext, issued: IssuedPassword, asJson: boolean): void {
  if (asJson) return context.print(JSON.stringify(issued));
  context.print(`user name    ${issued.username}`);
  context.print(`password     ${issued.password}`);
  context.print(`password id  ${issued.passwordId}`);
  context.note('The password is stored only as a hash: save it now.');
}

function formatLine(account: EdgeAccount): string {
  return toRow([
    account.username,
    account.disabledAt === undefined ? 'active' : 'disabled',
    account.clientId,
    account.protocols.join(' '),
    account.addresses.join(' '),
    account.passwords.map(({ passwordId }) => passwordId).join(','),
  ]);
}
