/** Counters of webhooks. */
export const webhookEvents = {
  settled: {
    counter: 'openhisp_webhook_attempts_total',
    help: 'Attempts to deliver a notification, by outcome.',
    labels: ['outcome'],
    level: 'debug',
    text: 'a webhook was called',
  },
  dead: {
    counter: 'openhisp_webhook_dead_total',
    help: 'Notifications that were dead-lettered after the last attempt.',
    level: 'warn',
    text: 'a webhook notification could not be delivered and waits for replay',
  },
  disabled: {
    counter: 'openhisp_webhook_disabled_total',
    help: 'Webhooks switched off by the service.',
    labels: ['reason'],
    level: 'warn',
    text: 'a webhook was switched off',
  },
} as const;
