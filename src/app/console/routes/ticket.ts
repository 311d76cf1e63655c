import { oneLine, operatorName } from '../../../core/index.ts';
import type { InboundDetails, MessageDetails, RecipientDetails } from '../contract/index.ts';
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
    ...writeSender(message),
    `From        ${message.from}`,
    `${message.direction === 'out' ? 'Accepted ' : 'Received '}   ${message.acceptedAt}`,
    `Status      ${message.status}: ${message.sentence}`,
    ...message.legalHolds.map(({ since }) => `Legal hold  since ${since}`),
    ...message.recipients.flatMap(writeRecipient),
    '',
    `${config.smtp.hostname}, openhisp ${version}; times in UTC.`,
  ];
  return toText(lines);
}

function writeSender({ clientId, clientName }: MessageDetails): string[] {
  if (clientId === '') return [];
  const tester = operatorName(clientId);
  if (tester !== undefined) return [`Test by     ${tester}`];
  return [`Client      ${clientId}${clientName === '' ? '' : ` (${clientName})`}`];
}

const toText = (lines: readonly string[]): string => `${lines.map((line) => oneLine(line)).join('\n')}\n`;

/** Refused mail as text for a ticket to the sender's HISP: who, when, why, and the certificates. */
export function writeInboundTicket(
  { row, mailId, path }: InboundDetails,
  { config, version }: Pick<ConsoleServices, 'config' | 'version'>,
): string {
  return toText([
    `Direct message ${row.wireId === '' ? 'that could not be opened' : row.wireId}`,
    ...(mailId === '' ? [] : [`Mail id     ${mailId}`]),
    `From        ${row.from === '' ? '<>' : row.from}`,
    `To          ${row.to.join(', ')}`,
    ...(row.remoteAddress === '' ? [] : [`Peer        ${row.remoteAddress}`]),
    `Time        ${row.at}`,
    `Outcome     ${row.state} ${row.code}`,
    `            ${row.text}`,
    ...(row.whatToDo === '' ? [] : [`What to do  ${row.whatToDo}`]),
    ...(path?.nodes ?? []).flatMap((node) => [
      '',
      `${node.role.padEnd(11)} ${node.subject === '' ? 'name not stored' : node.subject}`,
      ...(node.issuer === '' ? [] : [`Issuer      ${node.issuer}`]),
      ...(node.notBefore === null ? [] : [`Valid       ${node.notBefore} to ${node.notAfter ?? ''}`]),
      ...(node.fingerprint === '' ? [] : [`SHA-256     ${node.fingerprint}`]),
      ...(node.state === 'failed' ? [`Refused     ${node.code} ${node.text}`] : []),
    ]),
    '',
    `${config.smtp.hostname}, openhisp ${version}; times in UTC.`,
  ]);
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
