import { codedError, type ErrorTable } from '../../core/index.ts';

export const webhookErrors = {
  WEBHOOK_REQUEST_INVALID: { kind: 'invalid-input' },
  WEBHOOK_NOT_FOUND: { kind: 'not-found', publicMessage: 'Webhook not found.' },
  WEBHOOK_LIMIT_REACHED: {
    kind: 'conflict',
    publicMessage: 'The client has as many webhooks as it may have; delete one first.',
  },
  WEBHOOK_PAYLOAD_UNREADABLE: { kind: 'internal' },
} as const satisfies ErrorTable;

/** A refusal by the webhook service. */
export class WebhookError extends codedError(webhookErrors) {}
