import { Type, type Static } from 'typebox';
import { level, nullable, oneOf, time, named, queryOf, bodyOf } from './common.ts';

export const webhook = named('Webhook', {
  id: Type.String(),
  clientId: Type.String(),
  clientName: Type.String(),
  kind: oneOf(['status', 'inbound']),
  url: Type.String({ description: 'Without its query.' }),
  description: Type.String(),
  eventTypes: Type.Array(Type.String()),
  isEnabled: Type.Boolean(),
  level,
  /** The state, in one sentence. */
  text: Type.String(),
  whatToDo: Type.String(),
  failingSince: nullable(time),
  lastSuccessAt: nullable(time),
  createdAt: time,
  /** Of what waits, the first. */
  nextAttemptAt: nullable(time),
  waiting: Type.Integer(),
  held: Type.Integer(),
  dead: Type.Integer(),
});
export type Webhook = Static<typeof webhook>;

/** `GET /admin/v1/webhooks?client=`: by client and age. */
export const webhookQuery = queryOf({ client: Type.Optional(Type.String({ maxLength: 100 })) });
export const webhookList = named('WebhookList', { result: Type.Array(webhook) });
export type WebhookList = Static<typeof webhookList>;

/** `POST /admin/v1/webhooks`. Answers `IssuedWebhook`. */
export const newWebhook = bodyOf('NewWebhook', {
  clientId: Type.String({ maxLength: 100 }),
  url: Type.String({ minLength: 1, maxLength: 2048, description: 'HTTPS URL on a public host.' }),
  kind: oneOf(['status', 'inbound']),
  description: Type.Optional(Type.String({ maxLength: 200 })),
  xdm: Type.Optional(Type.Boolean({ description: 'For `inbound`: true to get XDM packages.' })),
});
export type NewWebhook = Static<typeof newWebhook>;

/** The signing secret is shown once. */
export const issuedWebhook = named('IssuedWebhook', {
  id: Type.String(),
  url: Type.String(),
  secret: Type.String(),
});
export type IssuedWebhook = Static<typeof issuedWebhook>;

/** An attempt that failed, or the one that succeeded after others had failed; a first success leaves none. */
export const webhookAttempt = named('WebhookAttempt', {
  eventId: Type.String(),
  messageId: Type.String(),
  attempt: Type.Integer(),
  at: time,
  durationMs: Type.Number(),
  httpStatus: nullable(Type.Integer()),
  level,
  error: Type.String(),
  /**
   * The beginning of the response to a status event; empty for hooks that receive messages, whose responses
   * may repeat content.
   */
  answer: Type.String(),
});
export type WebhookAttempt = Static<typeof webhookAttempt>;

export const deadNotification = named('DeadNotification', {
  eventId: Type.String(),
  eventType: Type.String(),
  messageId: Type.String(),
  attempts: Type.Integer(),
  lastStatus: nullable(Type.Integer()),
  lastError: Type.String(),
  createdAt: time,
  settledAt: nullable(time),
});
export type DeadNotification = Static<typeof deadNotification>;

/**
 * `GET /admin/v1/webhooks/:id`: its attempts, newest first, at most 100; its dead letters, oldest first, at
 * most 200.
 */
export const webhookDetails = named('WebhookDetails', {
  webhook,
  attempts: Type.Array(webhookAttempt),
  deadLetters: Type.Array(deadNotification),
});
export type WebhookDetails = Static<typeof webhookDetails>;

/**
 * `POST /admin/v1/webhooks/:id/replay`: the named dead letters, or all without `eventIds`. Answers `Done`.
 */
export const replayRequest = bodyOf('ReplayRequest', {
  eventIds: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { minItems: 1, maxItems: 200 })),
});
export type ReplayRequest = Static<typeof replayRequest>;

/** `POST /admin/v1/webhooks/:id/test`: sends one signed event of the type `webhook.test` now, once. */
export const webhookTest = named('WebhookTest', {
  isOk: Type.Boolean(),
  sentence: Type.String(),
  httpStatus: nullable(Type.Integer()),
  durationMs: Type.Number(),
  error: Type.String(),
  answer: Type.String(),
});
export type WebhookTest = Static<typeof webhookTest>;
