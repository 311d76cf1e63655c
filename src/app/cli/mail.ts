import type { Command } from 'commander';
import type { CliContext } from './context.ts';
import { withOperator } from './message/with-operator.ts';

/** Dead letters read at a time. */
const pageSize = 500;

/** Adds `mail`: the dead letters among inbound mail. */
export function addMailCommands(program: Command, context: CliContext): void {
  const mail = program.command('mail').description('inbound mail that could not be processed (dead letters)');
  mail
    .command('list')
    .description('list dead letters, oldest first')
    .action(() =>
      withOperator(context, async (operator) => {
        let cursor: string | undefined;
        do {
          const { items, next } = await operator.listDeadLetters({ limit: pageSize, cursor });
          for (const { id, mailFrom, recipients, receivedAt, reason } of items)
            context.print(
              `${id}\t${receivedAt.toISOString()}\t${mailFrom}\t${recipients.join(',')}\t${reason}`,
            );
          cursor = next;
        } while (cursor !== undefined && !context.isOutputClosed());
      }),
    );
  mail
    .command('retry [id]')
    .description('retry one dead letter, or all; a running server starts within one second')
    .action((id: string | undefined) =>
      withOperator(context, async (operator) => {
        const count = await operator.retryInbound(id);
        context.print(`${count} will be retried`);
        if (count === 0) context.setExitCode(1);
      }),
    );
}
