import { oneLine } from '../../../core/index.ts';
import type { MessageDetails, RecipientDetails } from '../contract/index.ts';
import type { ConsoleServices } from '../types.ts';

/** A message as text for a ticket: identifiers, history and advice. No content. */
export function writeTicket(
  message: MessageDetails,
  { config, version }: Pick<ConsoleServices, 'config' | 'version'>,
): string {
  const lines = [
    `Direct message ${message.messageId}`,
    `Wire id     ${message.wireId}`,
    ...(message.requestId === '' ? [] : [`Request id  ${message.requestId}`]),
    ...(message.clientId === '' ? [] : [`Client      ${message.clientId} (${message.clientName})`]),
    `From        ${message.from}`,
    `${message.direction === 'out' ? 'Accepted ' : 'Received '}   ${message.acceptedAt}`,
    `Status      ${message.status}: ${message.sentence}`,
    ...message.legalHolds.map(({ since }) => `Legal hold  since ${since}`),
    ...message.recipients.flatMap(writeRecipient),
    '',
    `${config.smtp.hostname}, openhisp ${version}; times in UTC.`,
  ];
  return `${lines.map((line) => oneLine(line)).join('\n')}\n`;
}

function writeRecipient(one: RecipientDetails): string[] {
  return [
    '',
    `To          ${one.address}`,
    `State       ${one.state} since ${one.stateAt}${one.reason === '' ? '' : ` (${one.reason}, ${one.statusCode})`}`,
    `            ${one.sentence}`,
    ...(one.whatToDo === '' ? [] : [`What to do  ${one.whatToDo}`]),
    `Stations    ${one.stations.map(({ title, state }) => `${title}: ${state}`).join(', ')}`,
    ...one.certificates
      .filter(({ state }) => state === 'refused')
      .map(({ code, text, nodes }) => `Certificate ${nodes[0]?.fingerprint ?? ''} refused: ${code} ${text}`),
    ...one.attempts
      .slice(-maxAttempts)
      .map(
        ({ at, outcome, host, address, tls, code, reply, durationMs }) =>
          `Attempt     ${at} ${outcome} ${host === '' ? 'no server reached' : `${host} [${address}]`} ${tls} ${reply.startsWith(code) ? '' : `${code} `}${reply} ${Math.round(durationMs)} ms`,
      ),
    ...(one.nextAttemptAt === null ? [] : [`Next        ${one.nextAttemptAt}`]),
  ];
}

const maxAttempts = 10;
