import { Option, type Command } from 'commander';
import {
  inboundKinds,
  inboundTextOf,
  type InboundEntry,
  type InboundKind,
  type ShownInbound,
  type WaitingMail,
} from '../../../service/messaging/index.ts';
import type { CliContext } from '../context.ts';
import { readTime, timeForms } from '../read-time.ts';
import { type JsonOption, toRow, printLines } from '../print-list.ts';
import { printPage, withMessaging, withPaging, type PageOptions } from './with-messaging.ts';

interface ListOptions extends PageOptions {
  readonly kind?: InboundKind[];
  readonly from?: string;
  readonly to?: string;
  readonly reason?: string;
  readonly since?: Date;
  readonly until?: Date;
}

/** Adds `inbound`: mail of other HISPs that was rejected or could not be processed. */
export function addInbound(inbound: Command, context: CliContext): void {
  withPaging(
    inbound
      .command('list')
      .description('list rejected mail and dead letters, newest first; all given options must match')
      .addOption(new Option('--kind <kind...>', 'only these').choices(inboundKinds))
      .option('--from <text>', "part of the envelope's sender, for example a domain")
      .option('--to <text>', 'part of a recipient')
      .option('--reason <code>', 'for example PKI_ISSUER_NOT_FOUND')
      .option('--since <time>', `from this time on: ${timeForms()}`, readTime)
      .option('--until <time>', 'before this time', readTime),
  ).action((options: ListOptions) =>
    withMessaging(context, async (messaging) => {
      const { kind: kinds, ...query } = options;
      printPage(context, options, await messaging.listInbound({ ...query, kinds }), formatEntry);
    }),
  );
  inbound
    .command('show <id>')
    .description('show one mail, by its number in the list or by the id of waiting mail')
    .option('--json', 'as JSON')
    .action((id: string, options: JsonOption) =>
      withMessaging(context, async (messaging) => {
        const found = await messaging.showInbound(id);
        const explained = { ...found, ...explain(found) };
        if (options.json === true) context.print(JSON.stringify(explained, undefined, 2));
        else {
          const { signer, ...facts } = { signer: undefined, ...explained };
          printLines(context, [...formatOne(facts), ...formatSigner(signer)]);
        }
      }),
    );
}

function formatEntry(entry: InboundEntry): readonly string[] {
  const { id, at, kind, from, to, reason } = entry;
  return [id, at.toISOString(), kind, from === '' ? '<>' : from, to.join(','), reason];
}

/** The reason in words, and what to do about it. */
function explain({ reason }: InboundEntry | WaitingMail): { text?: string; advice?: string } {
  return reason === '' ? {} : inboundTextOf(reason);
}

function formatOne(found: object): string[] {
  return Object.entries(found).map(([name, value]) => {
    const text =
      value instanceof Date ? value.toISOString() : Array.isArray(value) ? value.join(',') : String(value);
    return toRow([name, text]);
  });
}

/** A line per certificate, the signer's first, then the CAs that may be trusted, to be saved to a file. */
function formatSigner(signer: ShownInbound['signer']): string[] {
  const nodes = signer?.path.nodes ?? [];
  return [
    ...nodes.map(({ role, state, subject, issuer, fingerprint, notBefore, notAfter }) =>
      toRow([
        role,
        state,
        subject,
        `issuer ${issuer}`,
        notBefore === undefined ? '' : `${notBefore.toISOString()} to ${notAfter?.toISOString() ?? ''}`,
        fingerprint,
      ]),
    ),
    ...(signer?.authorities ?? []).flatMap(({ pem }) => pem.trimEnd().split('\n')),
  ];
}
