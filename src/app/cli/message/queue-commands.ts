import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { describeRetry } from './describe-retry.ts';
import type { JsonOption } from '../print-list.ts';
import { printPage, withMessaging, withPaging, type PageOptions } from './with-messaging.ts';
import { oneLine, systemClock } from '../../../core/index.ts';
import { describeHold, maxSelected } from '../../../service/delivery/index.ts';
import { readEnd } from '../read-time.ts';

/** Adds `queue`: the delivery queue, by destination. */
export function addQueue(queue: Command, context: CliContext): void {
  withPaging(
    queue
      .command('list [domain]')
      .description(
        'list waiting deliveries, oldest first, with the reason of the last attempt and the time of the next',
      ),
  ).action((domain: string | undefined, options: PageOptions) =>
    withMessaging(context, async (messaging) => {
      const { limit, cursor } = options;
      const page = await messaging.listQueue({
        limit,
        ...(domain !== undefined && { domain }),
        ...(cursor !== undefined && { cursor }),
      });
      const holds = (await messaging.listHolds()).filter(
        (one) => domain === undefined || one.domain === domain,
      );
      const shown = { ...page, holds };
      printPage(context, options, shown, (one) => [
        one.createdAt.toISOString(),
        one.messageId,
        one.kind,
        one.domain,
        one.recipients.join(','),
        `attempts ${one.attempts}`,
        one.lastReason ?? 'not tried yet',
        one.isOnHold ? 'on hold' : one.isRunning ? 'in progress' : `next ${one.nextAttemptAt.toISOString()}`,
      ]);
      if (options.json !== true)
        for (const one of holds) context.note(oneLine(describeHold(one, systemClock.now()).text));
    }),
  );
  queue
    .command('retry <domain>')
    .description('retry all deliveries to a destination now; a running server starts within seconds')
    .option('--json', 'as JSON')
    .action((domain: string, options: JsonOption) =>
      withMessaging(context, async (messaging) => {
        const result = await messaging.retryDestination(domain);
        const text =
          describeRetry('message', result) ??
          `no delivery to ${domain} waits; list the destinations: openhisp queue list`;
        context.print(options.json === true ? JSON.stringify(result) : text);
        if (result.retried + result.running === 0) context.setExitCode(1);
      }),
    );
  queue
    .command('fail <domain>')
    .description(
      'end the waiting deliveries to a destination: they fail with the reason cancelled, and the clients are notified',
    )
    .option('--json', 'as JSON')
    .action((domain: string, options: JsonOption) =>
      withMessaging(context, async (messaging) => {
        const result = { failed: 0, running: 0 };
        // What a server adds after the last selection stays.
        for (let isMore = true; isMore;) {
          const selected = await messaging.selectQueued({ domains: [domain.toLowerCase()] });
          const { failed, running } = await messaging.failSelected(selected);
          result.failed += failed;
          result.running = running;
          isMore = selected.length === maxSelected && failed > 0;
        }
        const text =
          result.failed + result.running === 0
            ? `no delivery to ${domain} waits; list the destinations: openhisp queue list`
            : `${result.failed} cancelled, the clients are notified; ${result.running} being tried at this moment are left alone`;
        context.print(options.json === true ? JSON.stringify(result) : text);
        if (result.failed === 0) context.setExitCode(1);
      }),
    );
  queue
    .command('hold <domain>')
    .description(
      'send nothing to a destination until the end or its release, also before anything waits for it; waiting messages still expire',
    )
    .requiredOption('--reason <text>', 'the reason, for other operators')
    .option(
      '--until <time>',
      'end of the hold: 2h, or 2026-11-21T08:00:00Z; without it until it is released',
      readEnd,
    )
    .option('--json', 'as JSON')
    .action((domain: string, options: JsonOption & { readonly reason: string; readonly until?: Date }) =>
      withMessaging(context, async (messaging) => {
        await messaging.hold(domain, options.reason, options.until);
        context.print(options.json === true ? JSON.stringify({ held: domain }) : `${domain} is on hold`);
      }),
    );
  queue
    .command('release <domain>')
    .description('send to a destination again')
    .option('--json', 'as JSON')
    .action((domain: string, options: JsonOption) =>
      withMessaging(context, async (messaging) => {
        const released = await messaging.release(domain);
        const text = released ? `${domain} is released` : `${domain} was not on hold`;
        context.print(options.json === true ? JSON.stringify({ released }) : text);
        if (!released) context.setExitCode(1);
      }),
    );
}
