import type { Command } from 'commander';
import { listDeadLetters } from '../../service/messaging/index.ts';
import type { CliContext } from './context.ts';
import { withOperator } from './message/with-operator.ts';
import { withInstallation } from './with-installation.ts';

/** Adds `mail`: the dead letters among inbound mail. */
export function addMailCommands(program: Command, context: CliContext): void {
  const mail = program.command('mail').description('inbound mail that could not be processed (dead letters)');
  mail
    .command('list')
    .description('list dead letters, oldest first')
    .action(() =>
      withInstallation(context, async ({ storage }) => {
        for (const entry of await listDeadLetters(storage)) {
          const { id, mailFrom, recipients, receivedAt, reason } = entry;
          context.print(
            `${id}\t${receivedAt.toISOString()}\t${mailFrom}\t${recipients.join(',')}\t${reason}`,
          );
        }
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
