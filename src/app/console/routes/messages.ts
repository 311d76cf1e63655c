import { Type } from 'typebox';
import { everything, isOwned, type Owned } from '../../../service/organizations/index.ts';
import {
  failureReasons,
  stateTexts,
  type MessageExplanation,
  type ReceivedExplanation,
  type ReceivedMessage,
  type RecipientExplanation,
  type SearchRow,
  type Station as FoundStation,
  isTimeZone,
} from '../../../service/messaging/index.ts';
import {
  doneAnswer,
  messageDetails,
  messageFilters,
  messagePage,
  messageQuery,
  type Level,
  type MessageDetails,
  type MessageRow,
  type MessageState,
  type RecipientDetails,
  type Station,
} from '../contract/index.ts';
import { invalidField } from '../errors.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { cursorsOf, timeAndId } from './cursors.ts';
import { isRefresh, type Acting } from './acting.ts';
import {
  countOf,
  isoOrNull,
  isoTime,
  readTime,
  levelOfState,
  toAuditEntry,
  toCertificatePath,
  toLegalHold,
} from './formats.ts';
import { writeTicket } from './ticket.ts';

const receivedTexts = {
  received: 'Stored in the inbox; no client has acknowledged it yet.',
  acknowledged: 'A client has acknowledged it.',
} as const;

const textOfReceived = ({ acknowledgedAt, isOthersOnly }: ReceivedMessage): string => {
  if (isOthersOnly) return 'Delivered to others, as its forwarding says; the address keeps no copy.';
  return receivedTexts[acknowledgedAt === undefined ? 'received' : 'acknowledged'];
};

const cursors = cursorsOf('messages', timeAndId);

const byName = Type.Object({
  messageId: Type.String({
    maxLength: 300,
    description: 'The message id (`urn:uuid:…` or bare), or the Message-ID on the wire.',
  }),
});

/** Routes of messages: list, one message, and its actions. */
export function messageRoutes(services: ConsoleServices, acting: Acting): ConsoleRoutes {
  const { oauth } = services;

  async function nameOfClient(clientId: string): Promise<string> {
    const client = await oauth.clients.get(clientId).catch(() => undefined);
    return client?.name ?? '';
  }

  return (app) => {
    route(app, 'get', '/messages', {
      needs: 'messages.read',
      scope: 'filtered',
      about: ['messages', 'List messages', 'Newest first, one row per recipient.'],
      query: messageQuery,
      answer: messagePage,
      handle: async (request) => {
        const { q, from, to, client, zone, limit = 50, cursor, ...filters } = request.query;
        if (zone !== undefined && !isTimeZone(zone)) throw invalidField('zone', 'zone is no IANA time zone.');
        const page = await acting(request).messaging.search(
          {
            ...filters,
            limit,
            cursor: cursors.read(cursor),
            text: q,
            zone,
            clientId: client,
            since: readTime('from', from),
            until: readTime('to', to),
          },
          { isRefresh: isRefresh(request) },
        );
        return {
          result: page.items.map(toRow),
          next: cursors.write(page.next),
          terms: [...page.terms],
          unread: [...page.unread],
          hasMoreAddresses: page.hasMoreAddresses,
          ...(page.total !== undefined && { total: page.total }),
        };
      },
    });
    route(app, 'get', '/message-filters', {
      needs: 'messages.read',
      scope: 'filtered',
      about: ['messages', 'List the values of the filters'],
      answer: messageFilters,
      handle: async ({ owned }) => ({
        states: [
          ...Object.entries(stateTexts).map(([state, { text }]) => ({ state: state as MessageState, text })),
          ...Object.entries(receivedTexts).map(([state, text]) => ({ state: state as MessageState, text })),
        ],
        reasons: Object.entries(failureReasons).map(([reason, { text, advice }]) => ({
          reason,
          text,
          whatToDo: advice,
        })),
        clients: (await oauth.clients.list())
          .filter(({ clientId }) => isOwned(owned, 'clients', clientId))
          .slice(0, 500)
          .map(({ clientId, name }) => ({ clientId, name })),
      }),
    });
    route(app, 'get', '/messages/:messageId', {
      needs: 'messages.read',
      scope: 'filtered',
      about: ['messages', 'Show a message', 'Without its content. Every view is audited.'],
      params: byName,
      answer: messageDetails,
      handle: async (request) => {
        const found = await acting(request).messaging.explain(request.params.messageId, {
          isRefresh: isRefresh(request),
        });
        const details = onlyOwn(await toDetails(found, nameOfClient), request.owned);
        // A row of a message may name others; the audit trail itself shows what is the organization's.
        const mayRead =
          request.owned.organizationId === undefined && request.operator.permissions.includes('audit.read');
        return mayRead ? details : { ...details, audit: [] };
      },
    });
    route(app, 'get', '/messages/:messageId/ticket', {
      needs: 'messages.read',
      scope: 'filtered',
      about: ['messages', 'Show a message as text to paste into a ticket'],
      params: byName,
      answer: { content: { 'text/plain': { schema: Type.String() } } },
      handle: async (request, reply) => {
        const found = await acting(request).messaging.explain(request.params.messageId);
        const details = onlyOwn(await toDetails(found, nameOfClient), request.owned);
        return reply.type('text/plain; charset=utf-8').send(writeTicket(details, services));
      },
    });
    route(app, 'get', '/messages/:messageId/evidence', {
      needs: 'messages.read',
      scope: 'filtered',
      about: [
        'messages',
        'Get the evidence of delivery',
        'A signed JSON document (JWS); `openhisp evidence verify` checks it offline.',
      ],
      params: byName,
      answer: { content: { 'application/jose+json': { schema: Type.Unknown() } } },
      refuses: [409],
      handle: async (request, reply) => {
        const evidence = await acting(request).messaging.getEvidence(request.params.messageId);
        return (
          reply
            // No name: the link of the console names the file after the message.
            .header('Content-Disposition', 'attachment')
            .type('application/jose+json')
            .send(`${JSON.stringify(evidence, undefined, 2)}\n`)
        );
      },
    });
    route(app, 'post', '/messages/:messageId/retry', {
      needs: 'messages.change',
      scope: 'filtered',
      about: ['messages', 'Retry the waiting deliveries of a message now'],
      params: byName,
      answer: doneAnswer,
      handle: async (request) => {
        const { retried, running } = await acting(request).messaging.retry(request.params.messageId);
        const sentences = [
          ...(retried === 0 ? [] : [`${countOf(retried, 'destination')} will be retried now.`]),
          ...(running === 0 ? [] : [`An attempt at ${countOf(running, 'destination')} is in progress.`]),
        ];
        const sentence =
          sentences.length === 0 ? 'No delivery of the message is waiting.' : sentences.join(' ');
        return { count: retried, sentence };
      },
    });
    route(app, 'post', '/messages/:messageId/fail', {
      needs: 'messages.change',
      scope: 'filtered',
      about: [
        'messages',
        'Cancel the waiting deliveries of a message',
        'Its client is notified with the reason cancelled.',
      ],
      params: byName,
      answer: doneAnswer,
      handle: async (request) => {
        const { failed, running } = await acting(request).messaging.fail(request.params.messageId);
        const ended =
          failed === 0
            ? 'No delivery of the message is waiting.'
            : `${countOf(failed, 'recipient')} failed: cancelled.`;
        const left =
          running === 0 ? '' : ` ${countOf(running, 'destination')} with an attempt in progress continued.`;
        return { count: failed, sentence: `${ended}${left}` };
      },
    });
  };
}

/** Who keeps mail for a court is the business of whoever runs the HISP. */
const onlyOwn = (details: MessageDetails, owned: Owned): MessageDetails =>
  owned === everything ? details : { ...details, legalHolds: [] };

function toRow(row: SearchRow): MessageRow {
  if (row.direction === 'in') {
    const state = row.acknowledgedAt === undefined ? 'received' : 'acknowledged';
    return {
      id: row.id,
      messageId: row.messageId,
      wireId: row.wireId,
      direction: 'in',
      clientId: '',
      from: row.from,
      to: row.to,
      acceptedAt: isoTime(row.receivedAt),
      state,
      stateAt: isoTime(row.acknowledgedAt ?? row.receivedAt),
      level: levelOfState(state),
      reason: '',
      statusCode: '',
      text: textOfReceived(row),
      nextAttemptAt: null,
    };
  }
  const { id, messageId, wireId, clientId, from, to, state, reason, statusCode, waiting = {} } = row;
  const failure = Object.hasOwn(failureReasons, reason)
    ? failureReasons[reason as keyof typeof failureReasons]
    : undefined;
  return {
    id,
    messageId,
    wireId,
    direction: 'out',
    clientId,
    from,
    to,
    acceptedAt: isoTime(row.acceptedAt),
    state,
    stateAt: isoTime(row.stateAt),
    level: waiting.reason === undefined ? levelOfState(state) : 'warning',
    reason: waiting.reason ?? reason,
    statusCode: waiting.statusCode ?? statusCode,
    text: waiting.text ?? failure?.text ?? stateTexts[state].text,
    nextAttemptAt: isoOrNull(waiting.nextAttemptAt),
  };
}

async function toDetails(
  found: MessageExplanation | ReceivedExplanation,
  nameOfClient: (clientId: string) => Promise<string>,
): Promise<MessageDetails> {
  if (found.direction === 'in') return toReceivedDetails(found);
  const { message, clientId } = found;
  const recipients = found.recipients.map(toRecipient);
  return {
    messageId: message.messageId,
    wireId: found.wireId,
    requestId: found.requestId,
    direction: 'out',
    clientId,
    clientName: await nameOfClient(clientId),
    from: message.sender,
    acceptedAt: isoTime(message.acceptedAt),
    status: message.status,
    level: worstOf(recipients),
    sentence: summarize(recipients),
    requestsFinalDelivery: message.requestsFinalDelivery,
    recipients,
    legalHolds: found.legalHolds.map(toLegalHold),
    audit: found.audit.map(toAuditEntry),
    canRetry: recipients.some(({ canRetry }) => canRetry),
    canFail: recipients.some(({ canFail }) => canFail),
  };
}

const byGravity: readonly Level[] = ['failed', 'warning', 'waiting', 'ok', 'none'];

function worstOf(recipients: readonly RecipientDetails[]): Level {
  return byGravity.find((level) => recipients.some((one) => one.level === level)) ?? 'none';
}

/** One sentence for all recipients: their state if they share it, otherwise the count of each state. */
function summarize(recipients: readonly RecipientDetails[]): string {
  const groups = [...Map.groupBy(recipients, ({ sentence }) => sentence)];
  const [first] = groups;
  if (groups.length === 1 && first !== undefined)
    return recipients.length === 1 ? first[0] : `All ${recipients.length} recipients: ${first[0]}`;
  return groups.map(([sentence, some]) => `${countOf(some.length, 'recipient')}: ${sentence}`).join(' ');
}

const stationTitles: Readonly<Record<Station['id'], string>> = {
  accepted: 'Accepted',
  certificate: 'Certificate',
  trust: 'Trust',
  sent: 'Sent',
  processed: 'Processed',
  dispatched: 'Dispatched',
};

function toStation({ at, ...station }: FoundStation): Station {
  return { ...station, title: stationTitles[station.id], at: isoOrNull(at) };
}

function toRecipient(one: RecipientExplanation): RecipientDetails {
  const { waiting } = one;
  const isRunning = waiting?.isRunning === true;
  return {
    address: one.address,
    destination: one.destination,
    state: one.state,
    stateAt: isoTime(one.at),
    level: one.state === 'queued' && one.reason !== '' ? 'warning' : levelOfState(one.state),
    isFinal: one.isFinal,
    reason: one.reason,
    statusCode: one.statusCode,
    sentence: one.text,
    whatToDo: one.whatToDo,
    stations: one.stations.map(toStation),
    certificates: one.certificates.map(toCertificatePath),
    attempts: one.tried.map(({ startedAt, certificates: _certificates, sentHash, ...attempt }) => ({
      ...attempt,
      at: isoTime(startedAt),
      level: attempt.outcome === 'sent' ? 'ok' : attempt.outcome === 'failed' ? 'failed' : 'warning',
      sentSha256: sentHash,
    })),
    history: one.history.map((entry) => ({
      at: isoTime(entry.time),
      event: entry.event,
      state: entry.status,
      reason: entry.reason,
      statusCode: entry.statusCode,
      text: entry.diagnostic,
      isLate: entry.isLate,
    })),
    attemptCount: Math.max(one.attempts, one.tried.length),
    nextAttemptAt: isoOrNull(one.nextAttemptAt),
    givesUpAt: isoOrNull(waiting?.givesUpAt),
    isOnHold: waiting?.isOnHold === true,
    isRunning,
    canRetry: waiting !== undefined && !isRunning,
    canFail: waiting !== undefined && !isRunning,
  };
}

function toReceivedDetails({ copies, legalHolds, audit }: ReceivedExplanation): MessageDetails {
  const [first] = copies;
  if (first === undefined) throw new TypeError('a received message has a copy');
  const recipients = copies.map((copy): RecipientDetails => {
    const state = copy.acknowledgedAt === undefined ? 'received' : 'acknowledged';
    const receivedAt = isoTime(copy.receivedAt);
    return {
      address: copy.to,
      destination: copy.to.slice(copy.to.lastIndexOf('@') + 1),
      state,
      stateAt: isoTime(copy.acknowledgedAt ?? copy.receivedAt),
      level: levelOfState(state),
      isFinal: state === 'acknowledged',
      reason: '',
      statusCode: '',
      sentence: textOfReceived(copy),
      whatToDo:
        state === 'acknowledged'
          ? ''
          : 'Check the client of this address: it has not fetched the message, or its webhook fails.',
      stations: [
        {
          id: 'accepted',
          title: 'Received',
          state: 'ok',
          at: receivedAt,
          text: 'Opened, trusted and stored.',
        },
        {
          id: 'processed',
          title: 'Processed',
          state: 'ok',
          at: receivedAt,
          text: 'A processed MDN was sent.',
        },
        {
          id: 'dispatched',
          title: copy.isOthersOnly ? 'Delivered to others' : 'Acknowledged',
          state: state === 'acknowledged' ? 'ok' : 'current',
          at: isoOrNull(copy.acknowledgedAt),
          text: textOfReceived(copy),
        },
      ],
      certificates: [],
      attempts: [],
      history: [],
      attemptCount: 0,
      nextAttemptAt: null,
      givesUpAt: null,
      isOnHold: false,
      isRunning: false,
      canRetry: false,
      canFail: false,
    };
  });
  return {
    messageId: first.messageId,
    wireId: first.wireId,
    requestId: '',
    direction: 'in',
    clientId: '',
    clientName: '',
    from: first.from,
    acceptedAt: isoTime(first.receivedAt),
    status: recipients.every(({ state }) => state === 'acknowledged') ? 'acknowledged' : 'received',
    level: worstOf(recipients),
    sentence: summarize(recipients),
    requestsFinalDelivery: false,
    recipients,
    legalHolds: legalHolds.map(toLegalHold),
    audit: audit.map(toAuditEntry),
    canRetry: false,
    canFail: false,
  };
}
