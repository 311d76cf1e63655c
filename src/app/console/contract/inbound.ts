import { Type, type Static } from 'typebox';
import { level, nullable, oneOf, pageOf, paging, time, named, queryOf } from './common.ts';
import { certificatePath } from './trust-paths.ts';

export const inboundState = oneOf(['received', 'refused', 'dead-lettered', 'unacknowledged']);
export type InboundState = Static<typeof inboundState>;

export const inboundRow = named('InboundRow', {
  /** Unique within a state. */
  id: Type.String(),
  state: inboundState,
  at: time,
  level,
  /** The envelope sender; empty for the null sender. */
  from: Type.String(),
  to: Type.Array(Type.String()),
  /** The error code; empty for a received message. */
  code: Type.String(),
  text: Type.String(),
  whatToDo: Type.String(),
  /** The sender's Message-ID; empty if the mail could not be opened. */
  wireId: Type.String(),
  /** Address of the peer; empty if it is no longer stored. */
  remoteAddress: Type.String(),
  attempts: Type.Integer(),
  /** True for dead letters. */
  canRetry: Type.Boolean(),
});
export type InboundRow = Static<typeof inboundRow>;

/** `GET /admin/v1/inbound`: newest first; unacknowledged messages oldest first. */
export const inboundQuery = queryOf({
  state: Type.Optional(inboundState),
  /** Part of the sender, for example a domain. */
  from: Type.Optional(Type.String({ maxLength: 255 })),
  to: Type.Optional(Type.String({ maxLength: 255 })),
  code: Type.Optional(Type.String({ maxLength: 100 })),
  since: Type.Optional(time),
  until: Type.Optional(time),
  ...paging,
});
export type InboundQuery = Static<typeof inboundQuery>;

export const inboundPage = pageOf(inboundRow, 'InboundPage');
export type InboundPage = Static<typeof inboundPage>;

/**
 * `GET /admin/v1/inbound/counts`: for the tabs. Refused and received are those of the last 24 hours, counted
 * up to 1,000.
 */
export const inboundCounts = named('InboundCounts', {
  received: Type.Integer(),
  refused: Type.Integer(),
  deadLettered: Type.Integer(),
  unacknowledged: Type.Integer(),
  oldestUnacknowledgedSeconds: Type.Number(),
  waiting: Type.Integer({ description: 'Accepted and not yet processed.' }),
});
export type InboundCounts = Static<typeof inboundCounts>;
/** `POST /admin/v1/inbound/:id/retry` answers `Done`. */

/** `GET /admin/v1/inbound/:id`: one refused mail or dead letter. `GET …/:id/ticket` answers text/plain. */
export const inboundDetails = named('InboundDetails', {
  row: inboundRow,
  /** The id in log lines; empty if the mail was refused before it was stored. */
  mailId: Type.String(),
  /** The signer's path as far as it went; null if the mail was refused for something else. */
  path: nullable(certificatePath),
  /** CAs of the path whose trust would help, lowest first. */
  authorities: Type.Array(
    Type.Object({ fingerprint: Type.String(), subject: Type.String(), pem: Type.String() }),
  ),
  /** Hosted domains of the recipients. */
  domains: Type.Array(Type.String()),
});
export type InboundDetails = Static<typeof inboundDetails>;
