import { Type, type Static } from 'typebox';
import { level, nullable, oneOf, time, named, bodyOf } from './common.ts';

export const partner = named('Partner', {
  outcome: oneOf(['processed', 'dispatched', 'failed', 'expired', 'untrusted', 'noCertificate']),
  address: Type.String(),
  title: Type.String(),
  /** The expected outcome, in one sentence. */
  text: Type.String(),
});
export type Partner = Static<typeof partner>;

export const sampleDocument = named('SampleDocument', {
  id: Type.String(),
  title: Type.String(),
  mediaType: Type.String(),
  bytes: Type.Integer(),
});
export type SampleDocument = Static<typeof sampleDocument>;

/** `GET /admin/v1/playground`; 404 outside the sandbox. */
export const playground = named('Playground', {
  from: Type.String(),
  partners: Type.Array(partner),
  samples: Type.Array(sampleDocument),
});
export type Playground = Static<typeof playground>;

/** `POST /admin/v1/playground/send` */
export const playgroundSend = bodyOf('PlaygroundSend', {
  to: Type.String({ maxLength: 255 }),
  sample: Type.String({ maxLength: 50 }),
  requestFinalDelivery: Type.Optional(Type.Boolean()),
});
export type PlaygroundSend = Static<typeof playgroundSend>;

/** One event on the wire. */
export const wireEvent = named('WireEvent', {
  id: Type.Integer({ description: 'Ascending with time.' }),
  at: time,
  kind: oneOf(['state', 'dns', 'smtp', 'mdn', 'webhook']),
  /** Sender and receiver, for example `this HISP` and `DNS`; the columns of the diagram. */
  from: oneOf(['client', 'this HISP', 'DNS', 'partner HISP', 'silent HISP', 'webhook']),
  to: oneOf(['client', 'this HISP', 'DNS', 'partner HISP', 'silent HISP', 'webhook']),
  /**
   * One line: the question and its answer, the SMTP command or reply, the MDN's disposition. No content.
   */
  text: Type.String(),
  level,
});
export type WireEvent = Static<typeof wireEvent>;

/**
 * `GET /admin/v1/playground/exchange/:messageId?after=`: events after the event `after`; poll until
 * `isComplete`.
 */
export const exchange = named('Exchange', {
  messageId: Type.String(),
  state: Type.String(),
  sentence: Type.String(),
  isComplete: Type.Boolean(),
  events: Type.Array(wireEvent),
  last: nullable(Type.Integer()),
});
export type Exchange = Static<typeof exchange>;
