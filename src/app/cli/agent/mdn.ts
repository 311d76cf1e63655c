import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { systemClock } from '../../../core/index.ts';
import { buildMdn, readMdnOrDsn, requestsFinalDelivery } from '../../../lib/mdn/index.ts';
import { parseEntity } from '../../../lib/mime/index.ts';
import { domainOf } from '../../../lib/values/index.ts';
import { readAddress } from './addresses.ts';
import { AgentCommandError } from './command-error.ts';
import { answering, type AgentOutput } from './output.ts';

interface MakeOptions {
  readonly disposition: string;
  readonly finalRecipient: string;
  readonly originalSender: string;
  readonly originalMessageId?: string;
  readonly finalDelivery?: boolean;
  readonly failure?: string;
  readonly host?: string;
  readonly product: string;
  readonly out?: string;
}

/** `agent mdn make` and `agent mdn read`: MDNs and DSNs in plain form, to be sealed or as opened. */
export function addMdnCommands(agent: Command, output: AgentOutput): void {
  const mdn = agent.command('mdn').description('write and read disposition notifications');
  mdn
    .command('make')
    .description('write an MDN as a plain message')
    .requiredOption('--final-recipient <address>', 'the recipient whose message the MDN reports')
    .requiredOption('--original-sender <address>', 'the recipient of the MDN')
    .option('--original-message-id <id>', 'Message-ID of the original')
    .option('--disposition <name>', 'processed, dispatched or failed', 'processed')
    .option('--final-delivery', 'confirm delivery to the final destination')
    .option('--failure <text>', 'the cause of the failure')
    .option('--host <name>', "reporting host; default the recipient's domain")
    .option('--product <name>', 'reporting product', 'openhisp')
    .option('--out <file>', 'write the MDN to this file instead of the answer')
    .action((options: MakeOptions) => answering(output, () => runMake(options, output)));
  mdn
    .command('read')
    .description('read an MDN or a delivery status notification from a plain message')
    .requiredOption('--in <file>', 'the plain message')
    .action((options: { in: string }) => answering(output, () => runRead(options.in, output)));
}

const dispositions = ['processed', 'dispatched', 'failed'] as const;

async function runMake(options: MakeOptions, output: AgentOutput): Promise<void> {
  const disposition = dispositions.find((name) => name === options.disposition);
  if (disposition === undefined) {
    throw new AgentCommandError('AGENT_OPTION_INVALID', `--disposition is one of ${dispositions.join(', ')}`);
  }
  const finalRecipient = readAddress('--final-recipient', options.finalRecipient);
  const messageId = `<${randomUUID()}@${domainOf(finalRecipient)}>`;
  const message = buildMdn({
    disposition,
    finalRecipient,
    originalSender: readAddress('--original-sender', options.originalSender),
    originalMessageId: options.originalMessageId,
    reportingUa: { host: options.host ?? domainOf(finalRecipient), product: options.product },
    date: systemClock.now(),
    messageId,
    ...(options.finalDelivery === true && { isFinalDelivery: true }),
    ...(options.failure !== undefined && { failureText: options.failure }),
  });
  if (options.out !== undefined) await writeFile(options.out, message);
  const text = options.out === undefined ? { message: message.toString('latin1') } : {};
  output({ verdict: 'accept', reason: null, messageId, sizeBytes: message.length, ...text }, 0);
}

async function runRead(file: string, output: AgentOutput): Promise<void> {
  const entity = parseEntity(await readFile(file));
  const read = readMdnOrDsn(entity);
  if (read === undefined) {
    const asksForFinalDelivery = requestsFinalDelivery(entity);
    output(
      {
        verdict: 'reject',
        reason: 'AGENT_NOT_AN_MDN',
        text: 'the message is neither an MDN nor a DSN',
        asksForFinalDelivery,
      },
      1,
    );
    return;
  }
  output({ verdict: 'accept', reason: null, ...toPlain(read) }, 0);
}

function toPlain(read: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(read).map(([name, value]) => [
      name,
      value instanceof Map ? Object.fromEntries(value) : value,
    ]),
  );
}
