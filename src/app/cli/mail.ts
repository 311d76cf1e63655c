import type { Command } from 'commander';
import { systemClock } from '../../core/index.ts';
import type { Storage } from '../../platform/index.ts';
import { listSetAside, retrySetAside, type MessagingTables } from '../../service/messaging/index.ts';
import type { CliContext } from './context.ts';
import { withInstallation } from './with-installation.ts';

/** Adds `mail`: inbound mail that was tried often enough and set aside for the operator. */
export function addMailCommands(program: Command, context: CliContext): void {
  const withStorage = (work: (storage: Storage) => Promise<void>): Promise<void> =>
    withInstallation(context, ({ storage }) => work(storage));
  const mail = program
    .command('mail')
    .description('inbound mail that could not be worked on and was set aside');
  mail
    .command('list')
    .description('list it, oldest first')
    .action(() =>
      withStorage(async (storage) => {
        for (const entry of await listSetAside(storage.tables<MessagingTables>())) {
          const { id, mailFrom, recipients, receivedAt, lastError } = entry;
          context.print(
            `${id}\t${receivedAt.toISOString()}\t${mailFrom}\t${recipients.join(',')}\t${lastError}`,
          );
        }
      }),
    );
  mail
    .command('retry [id]')
    .description('try one again, or all; a running server takes it within a second')
    .action((id: string | undefined) =>
      withStorage(async (storage) => {
        const count = await retrySetAside(storage.tables<MessagingTables>(), systemClock.now().getTime(), id);
        context.print(`${count} will be tried again`);
        if (count === 0) context.setExitCode(1);
      }),
    );
}
