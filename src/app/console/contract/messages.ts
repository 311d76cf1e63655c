import { Type, type Static } from 'typebox';
import { auditEntry } from './audit.ts';
import { legalHold } from './legal-holds.ts';
import { level, nullable, oneOf, pageOf, paging, time, queryOf, named, bodyOf } from './common.ts';
import { recipientStates } from '../../../lib/recipient-states/index.ts';
import { certificatePath } from './trust-paths.ts';

export const direction = oneOf(['out', 'in']);
export type Direction = Static<typeof direction>;

/**
 * State of a recipient of a sent message; `received` and `acknowledged` are the states of an incoming
 * message.
 */
export const messageState = oneOf([...recipientStates, 'received', 'acknowledged']);
export type MessageState = Static<typeof messageState>;

/** `GET /admin/v1/messages`: newest first. All given filters must match. */
export const messageQuery = queryOf({
  q: Type.Optional(
    Type.String({
      maxLength: 500,
      description:
        'The search box: message id, wire id, request id, address, domain, `<-1h` (within the last hour), `>2d` (more than two days ago), a day (`11/20`, `11/20/2026`, `2026-11-20`, `today`, `yesterday`); several terms are combined.',
    }),
  ),
  state: Type.Optional(messageState),
  reason: Type.Optional(Type.String({ maxLength: 100 })),
  client: Type.Optional(Type.String({ maxLength: 100 })),
  direction: Type.Optional(direction),
  from: Type.Optional(time),
  to: Type.Optional(time),
  zone: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'The IANA zone in which days of `q` begin, for example America/Chicago; UTC by default.',
    }),
  ),
  ...paging,
});
export type MessageQuery = Static<typeof messageQuery>;

/** One recipient of one message. No subject, no text, no attachment. */
export const messageRow = named('MessageRow', {
  /** Unique among rows. */
  id: Type.String(),
  /** `urn:uuid:…`; its page is `/messages/:messageId`. */
  messageId: Type.String(),
  wireId: Type.String(),
  direction,
  /** Empty for an incoming message. */
  clientId: Type.String(),
  from: Type.String(),
  to: Type.String(),
  /** When it was accepted or received. */
  acceptedAt: time,
  state: messageState,
  stateAt: time,
  level,
  /** The reason code of a failure, or of the last attempt while it waits; empty if there is none. */
  reason: Type.String(),
  statusCode: Type.String(),
  text: Type.String({ description: 'One or a few sentences.' }),
  /** While it waits for an attempt. */
  nextAttemptAt: nullable(time),
});
export type MessageRow = Static<typeof messageRow>;

/** The interpretation of a term of the search box. */
export const searchTerm = named('SearchTerm', {
  kind: oneOf([
    'message-id',
    'id-start',
    'wire-id',
    'request-id',
    'address',
    'address-start',
    'domain',
    'client',
    'state',
    'reason',
    'since',
    'until',
  ]),
  /** As typed. */
  typed: Type.String(),
  /** The value searched for; a time for `since` and `until`. */
  value: Type.String(),
});
export type SearchTerm = Static<typeof searchTerm>;

export const messagePage = named('MessagePage', {
  ...pageOf(messageRow, '').properties,
  terms: Type.Array(searchTerm),
  /** Terms that could not be interpreted; the result is then empty. */
  unread: Type.Array(Type.String()),
  /** More addresses begin as typed than were searched for. */
  hasMoreAddresses: Type.Boolean(),
  total: Type.Optional(
    nullable(
      Type.Integer({
        description:
          'All rows that match; null if there are more than 500. On the first page of a search alone.',
      }),
    ),
  ),
});
export type MessagePage = Static<typeof messagePage>;

/** The values of the filters, with their descriptions. `GET /admin/v1/message-filters` */
export const messageFilters = named('MessageFilters', {
  states: Type.Array(Type.Object({ state: messageState, text: Type.String() })),
  reasons: Type.Array(Type.Object({ reason: Type.String(), text: Type.String(), whatToDo: Type.String() })),
  clients: Type.Array(Type.Object({ clientId: Type.String(), name: Type.String() })),
});
export type MessageFilters = Static<typeof messageFilters>;

/**
 * A stage in the delivery of a message to one recipient. `ok`: passed; `current`: the message is here;
 * `failed`: it stopped here; `not-reached`; `not-needed`: the sender did not ask for it.
 */
export const station = named('Station', {
  id: oneOf(['accepted', 'certificate', 'trust', 'sent', 'processed', 'dispatched']),
  title: Type.String(),
  state: oneOf(['ok', 'current', 'failed', 'not-reached', 'not-needed']),
  at: nullable(time),
  text: Type.String({ description: 'One plain sentence; empty if not reached.' }),
});
export type Station = Static<typeof station>;

export const attempt = named('Attempt', {
  at: time,
  durationMs: Type.Number(),
  destination: Type.String(),
  /** Empty if no server was reached. */
  host: Type.String(),
  address: Type.String(),
  /** `TLSv1.3`, `TLSv1.2`; empty for none. */
  tls: Type.String(),
  reply: Type.String(),
  code: Type.String(),
  outcome: oneOf(['sent', 'partial', 'deferred', 'failed']),
  level,
  /** SHA-256 of the sent bytes; empty if none were sent. */
  sentSha256: Type.String(),
});
export type Attempt = Static<typeof attempt>;

export const historyEntry = named('HistoryEntry', {
  at: time,
  event: Type.String(),
  state: messageState,
  reason: Type.String(),
  statusCode: Type.String(),
  /** The reply of the other server; only the code of its MDNs and DSNs. */
  text: Type.String(),
  isLate: Type.Boolean({ description: 'It arrived after the final state, and changed nothing.' }),
});
export type HistoryEntry = Static<typeof historyEntry>;

export const recipientDetails = named('RecipientDetails', {
  address: Type.String(),
  destination: Type.String(),
  state: messageState,
  stateAt: time,
  level,
  isFinal: Type.Boolean(),
  reason: Type.String(),
  statusCode: Type.String(),
  /** The state, in one sentence. */
  sentence: Type.String(),
  /** The advice for the operator; empty if there is nothing to do. */
  whatToDo: Type.String(),
  stations: Type.Array(station),
  /** The certificate paths of the last attempt; empty before the first. */
  certificates: Type.Array(certificatePath),
  attempts: Type.Array(attempt, { description: "At this recipient's destination, oldest first." }),
  history: Type.Array(historyEntry),
  attemptCount: Type.Integer(),
  /** Null if the destination is not waiting, is on hold, or has an attempt in progress. */
  nextAttemptAt: nullable(time),
  givesUpAt: nullable(time),
  isOnHold: Type.Boolean(),
  isRunning: Type.Boolean(),
  canRetry: Type.Boolean(),
  canFail: Type.Boolean(),
});
export type RecipientDetails = Static<typeof recipientDetails>;

/** `GET /admin/v1/messages/:messageId`, by message id or wire id. Every view is audited. */
export const messageDetails = named('MessageDetails', {
  messageId: Type.String(),
  wireId: Type.String(),
  requestId: Type.String({ description: 'Empty if not known.' }),
  direction,
  clientId: Type.String(),
  clientName: Type.String(),
  from: Type.String(),
  acceptedAt: time,
  status: oneOf([...recipientStates, 'partial', 'received', 'acknowledged']),
  level,
  sentence: Type.String(),
  requestsFinalDelivery: Type.Boolean(),
  recipients: Type.Array(recipientDetails),
  legalHolds: Type.Array(legalHold, { description: 'Those in force that keep it from retention.' }),
  audit: Type.Array(auditEntry, {
    description: 'Audit events of this message, oldest first; empty without the permission audit.read.',
  }),
  canRetry: Type.Boolean(),
  canFail: Type.Boolean(),
});
export type MessageDetails = Static<typeof messageDetails>;

/** `POST /admin/v1/test-messages` */
export const testMessage = bodyOf('TestMessage', {
  fromDirectAddress: Type.String({ maxLength: 255, description: 'An active hosted address.' }),
  toDirectAddress: Type.String({ maxLength: 255 }),
  messageId: Type.Optional(
    Type.String({ maxLength: 100, description: '`urn:uuid:…`; a repetition with it sends nothing more.' }),
  ),
  requestFinalDelivery: Type.Optional(Type.Boolean()),
});
export type TestMessage = Static<typeof testMessage>;
export const sentMessage = named('SentMessage', { messageId: Type.String() });
export type SentMessage = Static<typeof sentMessage>;

/**
 * `POST …/:messageId/retry` and `…/fail`: all waiting destinations of the message. Both have no body and
 * answer `Done`.
 */
/** `GET …/:messageId/ticket` answers text/plain to paste into a ticket. */
