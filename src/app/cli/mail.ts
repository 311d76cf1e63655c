import type { Command } from 'commander';
import type { Storage } from '../../platform/index.ts';
import { listDeadLetters, retryDeadLetters } from '../../service/messaging/index.ts';
import type { CliContext } from './context.ts';
import { withInstallation } from './with-installation.ts';

/** Adds `mail`: the dead letters among inbound mail. */
export function addMailCommands(program: Command, context: CliContext): void {
  const withStorage = (work: (storage: Storage) => Promise<void>): Promise<void> =>
    withInstallation(context, ({ storage }) => work(storage));
  const mail = program.command('mail').description('inbound mail that could not be processed (dead letters)');
  mail
    .command('list')
    .description('list dead letters, oldest first')
    .action(() =>
      withStorage(async (storage) => {
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
      withStorage(async (storage) => {
        const count = await retryDeadLetters(storage, id);
        context.print(`${count} will be retried`);
        if (count === 0) context.setExitCode(1);
      }),
    );
}
