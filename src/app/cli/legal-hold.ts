import type { Command } from 'commander';
import type { LegalHold } from '../../service/legal-hold/index.ts';
import type { CliContext } from './context.ts';
import { withMessaging } from './message/with-messaging.ts';
import { printList, toRow, type JsonOption } from './print-list.ts';

interface ReasonOption extends JsonOption {
  readonly reason: string;
}

/** Adds `legal-hold`: what retention must not delete (Decision 0034). */
export function addLegalHoldCommands(legalHold: Command, context: CliContext): void {
  const add = legalHold.command('add').description('keep a message, or all messages of an address');
  for (const [usage, description] of [
    ['message <id>', 'keep one message, sent or received: by its message id or Message-ID'],
    ['address <address>', 'keep all messages from and to an address, hosted or not, also those to come'],
    [
      'organization <id>',
      'keep all messages from and to the addresses of an organization, also those to come',
    ],
  ] as const)
    add
      .command(usage)
      .description(description)
      .requiredOption('--reason <text>', 'the reason, as other operators see it: no names of patients')
      .option('--json', 'as JSON')
      .action((name: string, { reason, json }: ReasonOption) =>
        withMessaging(context, async (messaging) => {
          const what = toSubject(usage, name);
          const hold = await messaging.addLegalHold(what, reason);
          context.print(
            json === true ? JSON.stringify(hold) : `${hold.subject} is on legal hold, id ${hold.id}`,
          );
        }),
      );
  legalHold
    .command('list')
    .description('list the legal holds in force, oldest first')
    .option('--all', 'those that were released, too')
    .option('--json', 'as JSON')
    .action((options: JsonOption & { readonly all?: true }) =>
      withMessaging(context, async (messaging) => {
        const holds = await messaging.listLegalHolds({ withReleased: options.all === true });
        printList(context, options, holds, formatLine);
      }),
    );
  legalHold
    .command('release <holdId>')
    .description('let retention delete again what the hold kept; what is old then goes within minutes')
    .requiredOption('--reason <text>', 'the reason of the release')
    .option('--json', 'as JSON')
    .action((holdId: string, { reason, json }: ReasonOption) =>
      withMessaging(context, async (messaging) => {
        const hold = await messaging.releaseLegalHold(holdId, reason);
        context.print(
          json === true ? JSON.stringify(hold) : `${hold.subject}: the legal hold ${hold.id} is released`,
        );
      }),
    );
}

function toSubject(usage: string, name: string) {
  if (usage.startsWith('message')) return { messageId: name };
  return usage.startsWith('address') ? { address: name } : { organization: name };
}

function formatLine({ id, kind, subject, since, author, reason, released }: LegalHold): string {
  const end =
    released === undefined
      ? 'in force'
      : `released ${released.at.toISOString()} by ${released.by}: ${released.reason}`;
  return toRow([id, kind, subject, `since ${since.toISOString()}`, author, reason, end]);
}
