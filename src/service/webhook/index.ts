/**
 * Notifies edge clients: keeps their webhooks, and delivers signed notifications at least once, in no
 * promised order, with retries over about a day, a dead-letter list and replay (Decision 0013).
 *
 * Standards: Standard Webhooks (headers and signature, HOOK-01), RFC 7617 (Basic, for older edges), HOOK-02,
 * HOOK-03. Status events carry addresses, ids and status only; the content of received messages goes only to
 * hooks registered for it. Called by the messaging service and by the HTTP edge.
 */
export { createWebhooks, type WebhookOptions, type Webhooks } from './create-webhooks.ts';
export { eventTypes, type MessageEvent } from './events.ts';
export type { Webhook } from './hooks.ts';
export type { DeadLetterNotification } from './dead-letters.ts';
export type { MailStores, MailStoreTarget } from './hand-over.ts';
export {
  createWebhookOperator,
  type OperatedDetails,
  type OperatedWebhook,
  type WebhookOperator,
} from './operator.ts';
export { healthOfWebhook, findLastHookAttempts, findFailingHooks, type FailingHook } from './health.ts';

export { measureNotifications } from './measure-notifications.ts';
export type { NotificationRow, WebhookRow, WebhookTables } from './tables.ts';
export { attemptTimeoutMs, notificationLeaseMs } from './retry-schedule.ts';
export { webhookEncryptedColumns } from './hooks.ts';
export { webhookGuardedTables } from './guard.ts';
