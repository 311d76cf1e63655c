import type { Command } from 'commander';
import type { DeadLetter } from '../../service/messaging/index.ts';
import type { CliContext } from './context.ts';
import { withMessaging } from './message/with-messaging.ts';
import { type JsonOption, toRow } from './print-list.ts';

/** Dead letters read at a time. */
const pageSize = 500;

/** Adds `mail`: the dead letters among inbound mail. */
export function addMailCommands(mail: Command, context: CliContext): void {
  mail
    .command('list')
    .description('list dead letters, oldest first')
    .option('--json', 'as JSON')
    .action(({ json }: JsonOption) =>
      withMessaging(context, async (messaging) => {
        const all: DeadLetter[] = [];
        let cursor: string | undefined;
        do {
          const { items, next } = await messaging.listDeadLetters({ limit: pageSize, cursor });
          if (json === true) all.push(...items);
          else items.forEach((one) => context.print(formatLine(one)));
          cursor = next;
        } while (cursor !== undefined && !context.isOutputClosed());
        if (json === true) context.print(JSON.stringify(all, undefined, 2));
      }),
    );
  mail
    .command('retry [id]')
    .description('retry one dead letter, or all; a running server starts within one second')
    .action((id: string | undefined) =>
      withMessaging(context, async (messaging) => {
        const count = await messaging.retryInbound(id);
        context.print(`${count} will be retried`);
        if (count === 0) context.setExitCode(1);
      }),
    );
}

function formatLine({ id, mailFrom, recipients, receivedAt, reason }: DeadLetter): string {
  return toRow([id, receivedAt.toISOString(), mailFrom, recipients.join(','), reason]);
}
