import { Type, type Static } from 'typebox';
import { auditEntry } from './audit.ts';
import { level, nullable, oneOf, pageOf, paging, time } from './common.ts';
import { certificatePath } from './trust-paths.ts';

export const direction = oneOf(['out', 'in']);
export type Direction = Static<typeof direction>;

/** Of a recipient of a sent message; `received` and `acknowledged` are those of a message that came in. */
export const messageState = oneOf([
  'queued',
  'sent',
  'processed',
  'dispatched',
  'failed',
  'expired',
  'received',
  'acknowledged',
]);
export type MessageState = Static<typeof messageState>;

/** `GET /admin/v1/messages`: newest first. All that is given must fit. */
export const messageQuery = Type.Object(
  {
    q: Type.Optional(
      Type.String({
        maxLength: 500,
        description:
          'One box: message id, wire id, request id, address, domain, `<-1h` (in the last hour), `>2d` (before two days ago), a date; several are combined.',
      }),
    ),
    state: Type.Optional(messageState),
    reason: Type.Optional(Type.String({ maxLength: 100 })),
    client: Type.Optional(Type.String({ maxLength: 100 })),
    direction: Type.Optional(direction),
    from: Type.Optional(time),
    to: Type.Optional(time),
    ...paging,
  },
  { additionalProperties: false },
);
export type MessageQuery = Static<typeof messageQuery>;

/** One recipient of one message. No subject, no text, no attachment. */
export const messageRow = Type.Object(
  {
    /** Unique among rows. */
    id: Type.String(),
    /** `urn:uuid:…`; its page is `/messages/:messageId`. */
    messageId: Type.String(),
    wireId: Type.String(),
    direction,
    /** Empty for a message that came in. */
    clientId: Type.String(),
    from: Type.String(),
    to: Type.String(),
    /** When it was accepted or received. */
    acceptedAt: time,
    state: messageState,
    stateAt: time,
    level,
    /** The stable word of a failure; empty if there is none. */
    reason: Type.String(),
    statusCode: Type.String(),
    text: Type.String({ description: 'One sentence.' }),
  },
  { title: 'MessageRow' },
);
export type MessageRow = Static<typeof messageRow>;

/** How a part of the search box was read. */
export const searchTerm = Type.Object(
  {
    kind: oneOf([
      'message-id',
      'wire-id',
      'request-id',
      'address',
      'domain',
      'client',
      'state',
      'reason',
      'since',
      'until',
    ]),
    /** As typed. */
    typed: Type.String(),
    /** As searched for; a time for `since` and `until`. */
    value: Type.String(),
  },
  { title: 'SearchTerm' },
);
export type SearchTerm = Static<typeof searchTerm>;

export const messagePage = Type.Object(
  {
    ...pageOf(messageRow, '').properties,
    terms: Type.Array(searchTerm),
    /** Words of the box that could not be read; the result is then empty. */
    unread: Type.Array(Type.String()),
  },
  { title: 'MessagePage' },
);
export type MessagePage = Static<typeof messagePage>;

/** The words of the filters, with their sentences. `GET /admin/v1/message-filters` */
export const messageFilters = Type.Object(
  {
    states: Type.Array(Type.Object({ state: messageState, text: Type.String() })),
    reasons: Type.Array(Type.Object({ reason: Type.String(), text: Type.String(), whatToDo: Type.String() })),
    clients: Type.Array(Type.Object({ clientId: Type.String(), name: Type.String() })),
  },
  { title: 'MessageFilters' },
);
export type MessageFilters = Static<typeof messageFilters>;

/**
 * A place on the way of a message to one recipient. `ok`: passed; `current`: it is here; `failed`: it stopped here;
 * `not-reached`; `not-needed`: the sender did not ask for it.
 */
export const station = Type.Object(
  {
    id: oneOf(['accepted', 'certificate', 'trust', 'sent', 'processed', 'dispatched']),
    title: Type.String(),
    state: oneOf(['ok', 'current', 'failed', 'not-reached', 'not-needed']),
    at: nullable(time),
    text: Type.String({ description: 'One plain sentence; empty if not reached.' }),
  },
  { title: 'Station' },
);
export type Station = Static<typeof station>;

export const attempt = Type.Object(
  {
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
    /** SHA-256 of what was sent; empty if nothing was. */
    sentSha256: Type.String(),
  },
  { title: 'Attempt' },
);
export type Attempt = Static<typeof attempt>;

export const historyEntry = Type.Object(
  {
    at: time,
    event: Type.String(),
    state: messageState,
    reason: Type.String(),
    statusCode: Type.String(),
    /** What the other side said; of its reports the code only. */
    text: Type.String(),
    isLate: Type.Boolean({ description: 'It came after all was decided, and changed nothing.' }),
  },
  { title: 'HistoryEntry' },
);
export type HistoryEntry = Static<typeof historyEntry>;

export const recipientDetails = Type.Object(
  {
    address: Type.String(),
    destination: Type.String(),
    state: messageState,
    stateAt: time,
    level,
    isFinal: Type.Boolean(),
    reason: Type.String(),
    statusCode: Type.String(),
    /** What is, in one plain sentence. */
    sentence: Type.String(),
    /** Empty if nothing is to be done. */
    whatToDo: Type.String(),
    stations: Type.Array(station),
    /** What was found at the last attempt; empty before the first. */
    certificates: Type.Array(certificatePath),
    attempts: Type.Array(attempt, { description: "At this recipient's destination, oldest first." }),
    history: Type.Array(historyEntry),
    attemptCount: Type.Integer(),
    /** Null if it does not wait, is on hold or is being tried. */
    nextAttemptAt: nullable(time),
    givesUpAt: nullable(time),
    isOnHold: Type.Boolean(),
    isRunning: Type.Boolean(),
    canRetry: Type.Boolean(),
    canFail: Type.Boolean(),
  },
  { title: 'RecipientDetails' },
);
export type RecipientDetails = Static<typeof recipientDetails>;

/** `GET /admin/v1/messages/:messageId`, by any of its names. Every view is audited. */
export const messageDetails = Type.Object(
  {
    messageId: Type.String(),
    wireId: Type.String(),
    requestId: Type.String({ description: 'Empty if not known.' }),
    direction,
    clientId: Type.String(),
    clientName: Type.String(),
    from: Type.String(),
    acceptedAt: time,
    status: oneOf([
      'queued',
      'sent',
      'processed',
      'dispatched',
      'failed',
      'expired',
      'partial',
      'received',
      'acknowledged',
    ]),
    level,
    sentence: Type.String(),
    requestsFinalDelivery: Type.Boolean(),
    recipients: Type.Array(recipientDetails),
    audit: Type.Array(auditEntry, { description: 'What is known of this message, oldest first.' }),
    canRetry: Type.Boolean(),
    canFail: Type.Boolean(),
  },
  { title: 'MessageDetails' },
);
export type MessageDetails = Static<typeof messageDetails>;

/** `POST …/:messageId/retry` and `…/fail`: all that waits of the message. Both have no body, and answer `Done`. */
/** `GET …/:messageId/ticket` answers text/plain to paste into a ticket. */
