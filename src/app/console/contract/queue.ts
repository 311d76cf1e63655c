import { Type, type Static } from 'typebox';
import { level, nullable, oneOf, pageOf, paging, time, named, queryOf, bodyOf } from './common.ts';

/** What the last attempt found, and when the next one is. */
const lastAttempt = {
  /** Empty before the first. */
  reason: Type.String(),
  level,
  text: Type.String(),
  whatToDo: Type.String(),
  lastError: Type.String(),
  nextAttemptAt: nullable(time),
};

export const queueDestination = named('QueueDestination', {
  domain: Type.String(),
  /** Waiting deliveries; MDNs and DSNs are counted in `reports`, not in `messages`. */
  messages: Type.Integer(),
  reports: Type.Integer(),
  running: Type.Integer(),
  oldestAt: time,
  /** The highest number of attempts of these deliveries. */
  attempts: Type.Integer(),
  ...lastAttempt,
  hold: nullable(
    Type.Object({
      reason: Type.String(),
      since: time,
      /** The operator who set it. */
      author: Type.String(),
      /** When it ends by itself; null: when an operator releases it. */
      until: nullable(time),
      /** When the first waiting delivery fails if the hold stays; null if none waits. */
      expiresAt: nullable(time),
    }),
  ),
});
export type QueueDestination = Static<typeof queueDestination>;

/**
 * `GET /admin/v1/queue`: by destination, oldest first. Destinations on hold are listed even if no delivery
 * waits for them.
 */
export const queueQuery = queryOf({ domain: Type.Optional(Type.String({ maxLength: 255 })), ...paging });
export const queuePage = pageOf(queueDestination, 'QueuePage');
export type QueuePage = Static<typeof queuePage>;

export const queuedDelivery = named('QueuedDelivery', {
  /** Id of the delivery to this destination, for `deliveries` of an action. */
  id: Type.String(),
  /** Names the message alone; its Message-ID may be that of others, too. */
  deliveryId: Type.String(),
  messageId: Type.String(),
  /** `message`, `mdn` or `dsn`; only messages have a page. */
  kind: oneOf(['message', 'mdn', 'dsn']),
  from: Type.String(),
  to: Type.Array(Type.String()),
  createdAt: time,
  attempts: Type.Integer(),
  ...lastAttempt,
  givesUpAt: time,
  isRunning: Type.Boolean(),
  isOnHold: Type.Boolean(),
});
export type QueuedDelivery = Static<typeof queuedDelivery>;

/** `GET /admin/v1/queue/:destination`: its waiting deliveries, oldest first. */
export const deliveryPage = pageOf(queuedDelivery, 'DeliveryPage');
export type DeliveryPage = Static<typeof deliveryPage>;

export const queueAction = oneOf(['retry', 'hold', 'release', 'fail']);
export type QueueAction = Static<typeof queueAction>;

/**
 * `POST /admin/v1/queue/actions`. With `preview` nothing changes. `hold` and `release` take destinations
 * only; `hold` needs a reason.
 */
export const queueActionRequest = bodyOf('QueueActionRequest', {
  action: queueAction,
  destinations: Type.Optional(Type.Array(Type.String({ maxLength: 255 }), { maxItems: 200 })),
  deliveries: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 500 })),
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  until: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'End of the hold, for announced maintenance; without it until it is released.',
    }),
  ),
  upTo: Type.Optional(
    Type.String({
      maxLength: 100,
      description: '`upTo` of the preview: deliveries that were added since are left alone.',
    }),
  ),
  preview: Type.Boolean(),
});
export type QueueActionRequest = Static<typeof queueActionRequest>;

export const queueActionAnswer = named('QueueActionAnswer', {
  action: queueAction,
  preview: Type.Boolean(),
  /** The completed action, or the action to confirm. */
  sentence: Type.String(),
  destinations: Type.Integer(),
  deliveries: Type.Integer(),
  recipients: Type.Integer(),
  /** Deliveries with an attempt in progress, which are skipped. */
  running: Type.Integer(),
  /** The newest delivery concerned; empty if there is none. */
  upTo: Type.String(),
  /** By destination, at most 200. */
  items: Type.Array(
    Type.Object({
      domain: Type.String(),
      deliveries: Type.Integer(),
      recipients: Type.Integer(),
      running: Type.Integer(),
    }),
  ),
});
export type QueueActionAnswer = Static<typeof queueActionAnswer>;
