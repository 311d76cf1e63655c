import { Option, type Command } from 'commander';
import { systemClock } from '../../core/index.ts';
import { createOauth } from '../../service/oauth/index.ts';
import {
  createWebhookOperator,
  type OperatedDetails,
  type OperatedWebhook,
  type WebhookOperator,
} from '../../service/webhook/index.ts';
import type { CliContext } from './context.ts';
import { describeError } from './describe-error.ts';
import { printLines, printList, toRow, type JsonOption } from './print-list.ts';
import { withInstallation, type AuditedInstallation } from './with-installation.ts';
import { withWebhooks } from './with-webhooks.ts';

interface CreateOptions extends JsonOption {
  readonly kind: string;
  readonly description?: string;
  readonly xdm?: true;
}

interface ListOptions {
  readonly client?: string;
  readonly failing?: true;
  readonly json?: true;
}

/** Adds `webhook`: how the notifications of clients fare (Decision 0013). Each call leaves an audit row. */
export function addWebhookCommands(webhook: Command, context: CliContext): void {
  webhook
    .command('list')
    .description('list webhooks with their waiting notifications')
    .option('--client <clientId>', 'only webhooks of this client')
    .option('--failing', 'only webhooks that fail, were disabled by the service, or have dead letters')
    .option('--json', 'as JSON')
    .action((options: ListOptions) =>
      withHooks(context, async (hooks, installation) => {
        // The empty list of a misspelt client would say that it has no webhooks.
        if (options.client !== undefined)
          await createOauth({ ...installation, clock: systemClock }).clients.get(options.client);
        const all = await hooks.list(options.client);
        const found = options.failing === true ? all.filter(needsAttention) : all;
        printList(context, options, found, formatLine);
      }),
    );
  webhook
    .command('create <clientId> <url>')
    .description('register a webhook of a client, and print its signing secret once')
    .addOption(
      new Option('--kind <kind>', 'status: events of messages; inbound: received messages whole')
        .choices(['status', 'inbound'])
        .default('status'),
    )
    .option('--description <text>', 'shown in lists')
    .option('--xdm', 'of kind inbound: send XDM packages instead of documents')
    .option('--json', 'as JSON')
    .action((clientId: string, url: string, options: CreateOptions) =>
      withHooks(context, async (hooks, installation) => {
        const { clients } = createOauth({ ...installation, clock: systemClock });
        const client = await clients.get(clientId);
        const { json, ...settings } = options;
        const made = await withWebhooks(installation, (webhooks) =>
          hooks.create(client.clientId, { url, ...settings }, webhooks),
        );
        const answer = { id: made.webhook.id, url: made.webhook.url, secret: made.secret };
        if (json === true) return context.print(JSON.stringify(answer));
        context.print(`webhook  ${answer.id}`);
        context.print(`secret   ${answer.secret}`);
        context.note('The secret is shown this once: save it now.');
        return undefined;
      }),
    );
  for (const [name, isEnabled, text] of [
    ['disable', false, 'disable a webhook: its events are held'],
    ['enable', true, 'enable a webhook: what was held is sent'],
  ] as const)
    webhook
      .command(`${name} <webhookId>`)
      .description(text)
      .action((id: string) =>
        withHooks(context, (hooks, installation) =>
          withWebhooks(installation, async (webhooks) => {
            const { counts } = await hooks.setEnabled(id, isEnabled, webhooks);
            context.print(`${name}d; ${counts.held} held, ${counts.waiting} waiting`);
          }),
        ),
      );
  webhook
    .command('show <webhookId>')
    .description('show a webhook with its failed attempts and dead letters')
    .option('--json', 'as JSON')
    .action((id: string, options: { json?: true }) =>
      withHooks(context, async (hooks) => {
        const details = await hooks.show(id);
        if (options.json === true) context.print(JSON.stringify(details, undefined, 2));
        else printLines(context, formatDetails(details));
      }),
    );
  webhook
    .command('replay <webhookId>')
    .description('send dead letters again; a running server starts within seconds')
    .option('--event <eventId...>', 'only these events; default: all')
    .option('--json', 'as JSON')
    .action((id: string, options: { event?: string[]; json?: true }) =>
      withHooks(context, async (hooks) => {
        const replayed = await hooks.replay(id, options.event);
        context.print(options.json === true ? JSON.stringify({ replayed }) : `${replayed} replayed`);
        if (replayed === 0) context.setExitCode(1);
      }),
    );
}

async function withHooks(
  context: CliContext,
  work: (hooks: WebhookOperator, installation: AuditedInstallation) => Promise<void>,
): Promise<void> {
  try {
    await withInstallation(context, (installation) => {
      const { storage, audit } = installation;
      return work(createWebhookOperator({ storage, audit, operator: 'operator' }), installation);
    });
  } catch (error) {
    context.note(describeError(error));
    context.setExitCode(1);
  }
}

function needsAttention({ failingSince, disabledReason, counts }: OperatedWebhook): boolean {
  return (
    failingSince !== undefined || disabledReason === 'failing' || disabledReason === 'gone' || counts.dead > 0
  );
}

function formatLine(webhook: OperatedWebhook): string {
  const { id, clientId, kind, counts } = webhook;
  const { waiting, held, dead } = counts;
  return toRow([
    id,
    clientId,
    kind,
    stateOf(webhook),
    `waiting ${waiting}`,
    `held ${held}`,
    `dead ${dead}`,
    webhook.url,
  ]);
}

function stateOf({ isEnabled, disabledReason, failingSince }: OperatedWebhook): string {
  if (!isEnabled) return `disabled: ${disabledReason}`;
  return failingSince === undefined ? 'enabled' : `failing since ${failingSince.toISOString()}`;
}

function formatDetails({ webhook, attempts, deadLetters }: OperatedDetails): string[] {
  return [
    formatLine(webhook),
    `last success\t${webhook.lastSuccessAt?.toISOString() ?? 'none'}`,
    ...attempts.map((one) =>
      toRow([
        'attempt',
        one.at.toISOString(),
        one.eventId,
        one.messageId,
        `number ${one.attempt}`,
        one.error === '' ? 'delivered' : one.error,
        `${one.durationMs} ms`,
      ]),
    ),
    ...deadLetters.map((one) =>
      toRow(['dead', one.createdAt.toISOString(), one.eventId, one.messageId, one.eventType, one.lastError]),
    ),
  ];
}
