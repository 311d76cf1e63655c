import { InvalidArgumentError, type Command } from 'commander';
import { silentLog, systemClock } from '../../../core/index.ts';
import { createDeliveryAdmin } from '../../../service/delivery/index.ts';
import {
  createEventCounts,
  createMessagingOperator,
  loadMessaging,
  type Messaging,
  type MessagingOperator,
} from '../../../service/messaging/index.ts';
import { createOauth } from '../../../service/oauth/index.ts';
import { createTrust } from '../../../service/trust/index.ts';
import { createWebhooks } from '../../../service/webhook/index.ts';
import type { CliContext } from '../context.ts';
import { describeError } from '../describe-error.ts';
import { type JsonOption, toRow } from '../print-list.ts';
import { withInstallation, type AuditedInstallation } from '../with-installation.ts';

export interface PageOptions extends JsonOption {
  readonly limit: number;
  readonly cursor?: string;
}

/**
 * Opens the installation for one command about messages. A refusal is printed on standard error, and the
 * command exits with 1.
 */
export function withMessaging(
  context: CliContext,
  work: (messaging: MessagingOperator, services: Services) => Promise<void>,
): Promise<void> {
  return withServices(context, async (services) => {
    const counts = createEventCounts(services);
    try {
      await work(
        createMessagingOperator({ ...services, emit: counts.emit, operator: context.actor() }),
        services,
      );
    } finally {
      await counts.close();
    }
  });
}

/** The same for a command that sends: what it stores is taken by a running server. */
export function withSending(
  context: CliContext,
  work: (messaging: Messaging) => Promise<void>,
): Promise<void> {
  return withServices(context, async (services) => {
    const { config } = services;
    const createMessaging = await loadMessaging();
    const messaging = createMessaging({
      ...services,
      clients: createOauth(services).clients,
      delivery: createDeliveryAdmin({
        ...services,
        onOutcome: delegate,
        lifetimeMs: config.delivery.giveUpHours * 3_600_000,
      }),
      agent: { openIncoming: delegate, resolveRecipients: delegate },
      identity: { hostname: config.smtp.hostname, sourceOid: '' },
    });
    try {
      await work(messaging);
    } finally {
      await messaging.close();
    }
  });
}

/** What a command leaves to the server. */
const delegate = (): Promise<never> => Promise.reject(new TypeError('a command only stores'));

type Services = ReturnType<typeof openServices>;

function openServices(installation: AuditedInstallation) {
  const common = { ...installation, clock: systemClock, log: silentLog };
  // Never started: notifications are stored, and the service sends them.
  return { ...common, webhooks: createWebhooks({ ...common, post: delegate }), trust: createTrust(common) };
}

async function withServices(context: CliContext, work: (services: Services) => Promise<void>): Promise<void> {
  try {
    await withInstallation(context, async (installation) => {
      const services = openServices(installation);
      try {
        await work(services);
      } finally {
        await services.webhooks.close();
      }
    });
  } catch (error) {
    context.note(describeError(error));
    context.setExitCode(1);
  }
}

export function withPaging(command: Command): Command {
  return command
    .option('--limit <number>', 'maximum number of results, up to 500', readLimit, 50)
    .option('--cursor <cursor>', 'the next cursor of the previous page')
    .option('--json', 'as JSON');
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (/^\d{1,3}$/.test(text) && limit >= 1 && limit <= 500) return limit;
  throw new InvalidArgumentError('It must be a number from 1 to 500.');
}

/** Prints a page: one line for each item, and how to get the next page. */
export function printPage<Item>(
  context: CliContext,
  options: JsonOption,
  page: { readonly items: readonly Item[]; readonly next?: string },
  format: (item: Item) => readonly string[],
): void {
  if (options.json === true) return context.print(JSON.stringify(page, undefined, 2));
  for (const item of page.items) context.print(toRow(format(item)));
  if (page.items.length === 0) context.note('Nothing found.');
  if (page.next !== undefined) context.note(`More: --cursor ${page.next}`);
}
