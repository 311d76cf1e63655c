import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { countOf, operatorName, quoteForShell } from '../../../core/index.ts';
import type { Attempt, FoundMessage, MessageDetails } from '../../../service/messaging/index.ts';
import type { CliContext } from '../context.ts';
import { readTime, timeForms } from '../read-time.ts';
import { describeRetry } from './describe-retry.ts';
import { type JsonOption, toRow, printLines } from '../print-list.ts';
import { createOauth } from '../../../service/oauth/index.ts';
import { printPage, withMessaging, withPaging, withSending, type PageOptions } from './with-messaging.ts';

interface FindOptions extends PageOptions {
  readonly id?: string;
  readonly request?: string;
  readonly address?: string;
  readonly client?: string;
  readonly state?: string;
  readonly reason?: string;
  readonly since?: Date;
  readonly until?: Date;
}

interface TestOptions extends JsonOption {
  readonly final?: boolean;
}

/** Adds `message`: the outcomes of sent messages, and an operator's actions on one. */
export function addMessage(message: Command, context: CliContext): void {
  withPaging(
    message
      .command('find')
      .description('list recipients of sent messages, newest first; all given options must match')
      .option('--id <id>', 'the message id (with or without urn:uuid:), or the Message-ID header')
      .option('--request <id>', 'the X-Request-Id of the request that sent it')
      .option('--address <address>', 'sender or recipient; @domain for all of a domain')
      .option('--client <clientId>', 'the client that sent it')
      .option('--state <state>', 'queued, sent, processed, dispatched, failed or expired')
      .option('--reason <reason>', 'reason of the failure, for example no-certificate')
      .option('--since <time>', `accepted from this time on: ${timeForms()}`, readTime)
      .option('--until <time>', 'accepted before this time', readTime),
  ).action((options: FindOptions) =>
    withMessaging(context, async (messaging, services) => {
      const { request: requestId, client: clientId, ...query } = options;
      const page = await messaging.find({ ...query, requestId, clientId });
      // That a misspelt client sent nothing says nothing. Test messages are an operator's.
      if (page.items.length === 0 && clientId !== undefined && operatorName(clientId) === undefined)
        await createOauth(services).clients.get(clientId);
      printPage(context, options, page, formatFound);
    }),
  );
  message
    .command('show <id>')
    .description(
      'show the messages of an id: each recipient with its history, waiting deliveries with reasons, every attempt',
    )
    .option('--json', 'as JSON')
    .action((id: string, options: JsonOption) =>
      withMessaging(context, async (messaging) => {
        for (const details of await messaging.show(id)) {
          if (options.json === true) context.print(JSON.stringify(details, undefined, 2));
          else printLines(context, formatDetails(details));
        }
      }),
    );
  message
    .command('retry <id>')
    .description('retry the waiting deliveries of a message now; a running server starts within seconds')
    .option('--json', 'as JSON')
    .action((id: string, options: JsonOption) =>
      withMessaging(context, async (messaging) => {
        const result = await messaging.retry(id);
        const text =
          describeRetry('destination', result) ??
          `no delivery of the message waits; see its state: openhisp message show ${quoteForShell(id)}`;
        context.print(options.json === true ? JSON.stringify(result) : text);
        if (result.retried + result.running === 0) context.setExitCode(1);
      }),
    );
  message
    .command('fail <id>')
    .description(
      'end the waiting deliveries of a message: they fail with the reason cancelled, and the client is notified',
    )
    .option('--json', 'as JSON')
    .action((id: string, options: JsonOption) =>
      withMessaging(context, async (messaging) => {
        const result = await messaging.fail(id);
        const text = describeFail(id, result);
        context.print(options.json === true ? JSON.stringify(result) : text);
        if (result.failed === 0) context.setExitCode(1);
      }),
    );
  message
    .command('test <from> <to>')
    .description(
      'send a test message without patient data from a hosted address; a running server takes it within seconds',
    )
    .option('--final', 'ask for the MDN of the final delivery, too')
    .option('--json', 'as JSON')
    .action(async (from: string, to: string, { final: requestFinalDelivery, json }: TestOptions) => {
      const test = { fromDirectAddress: from, toDirectAddress: to, requestFinalDelivery };
      await withSending(context, async (messaging) => {
        const { messageId } = await messaging.sendTest(context.actor(), test);
        context.print(json === true ? JSON.stringify({ messageId }) : messageId);
        context.note(`Its path so far: openhisp message show ${quoteForShell(messageId)}`);
      });
    });
  message
    .command('evidence <id>')
    .description('write the evidence of delivery of a message: one signed JSON document (JWS)')
    .option('--out <file>', 'a new file; default: standard output')
    .action((id: string, options: { readonly out?: string }) =>
      withMessaging(context, async (messaging) => {
        const text = JSON.stringify(await messaging.getEvidence(id), undefined, 2);
        if (options.out === undefined) context.print(text);
        else {
          await writeFile(options.out, `${text}\n`, { flag: 'wx', mode: 0o600 });
          context.note(
            `Written to ${options.out}. Check it offline: openhisp evidence verify ${quoteForShell(options.out)}`,
          );
        }
      }),
    );
}

function formatFound(found: FoundMessage): readonly string[] {
  return [
    found.acceptedAt.toISOString(),
    found.messageId,
    found.clientId,
    found.from,
    found.to,
    found.reason === '' ? found.state : `${found.state}: ${found.reason}`,
    found.statusCode,
  ];
}

function describeFail(id: string, { failed, running }: { failed: number; running: number }): string {
  const recipients = `${countOf(failed, 'recipient')} failed`;
  if (running > 0)
    return `${recipients}; ${countOf(running, 'destination')} with an attempt in progress: run the command again when it has ended`;
  return failed > 0
    ? recipients
    : `no delivery of the message waits; see its state: openhisp message show ${quoteForShell(id)}`;
}

function formatDetails({
  message,
  clientId,
  wireId,
  requestId,
  waiting,
  attempts,
  legalHolds,
}: MessageDetails): string[] {
  return [
    toRow(['message', message.messageId]),
    toRow(['wire id', wireId]),
    toRow(['request', requestId === '' ? 'not known' : requestId]),
    toRow(['client', clientId]),
    toRow(['from', message.sender]),
    toRow(['accepted', message.acceptedAt.toISOString()]),
    toRow(['status', message.status]),
    ...legalHolds.map(({ since, author, reason }) =>
      toRow(['on legal hold', `since ${since.toISOString()}`, author, reason]),
    ),
    ...message.recipients.flatMap((recipient) => [
      toRow([
        'to',
        recipient.address,
        recipient.state,
        recipient.reason,
        recipient.statusCode,
        recipient.text,
      ]),
      ...recipient.history.map((entry) =>
        toRow(['', entry.time.toISOString(), entry.event, entry.status, entry.reason, entry.diagnostic]),
      ),
    ]),
    ...waiting.map((one) =>
      toRow([
        'waits',
        one.domain,
        one.isOnHold ? 'on hold' : one.isRunning ? 'in progress' : `next ${one.nextAttemptAt.toISOString()}`,
        `expires ${one.givesUpAt.toISOString()}`,
        `attempts ${one.attempts}`,
        one.lastReason ?? '',
        one.lastError ?? '',
      ]),
    ),
    ...attempts.map(formatAttempt),
  ];
}

function formatAttempt(attempt: Attempt): string {
  const { startedAt, destination, outcome, host, address, tls, code, reply, durationMs } = attempt;
  return toRow([
    'attempt',
    startedAt.toISOString(),
    destination,
    outcome,
    host === '' ? 'no host' : `${host} [${address}]`,
    tls === '' ? 'no TLS' : tls,
    code,
    reply,
    `${durationMs} ms`,
  ]);
}
