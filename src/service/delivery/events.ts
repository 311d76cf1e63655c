/** What is worth counting; the log lines hold ids, hosts and codes, the counters nothing but the labels. */
export const deliveryEvents = {
  attemptSucceeded: {
    counter: 'openhisp_delivery_attempts_succeeded_total',
    help: 'Attempts at a destination that took the message for all recipients, by what the last attempt there brought (class).',
    labels: ['kind', 'class'],
    level: 'debug',
    text: 'a destination took a message',
  },
  attemptFailed: {
    counter: 'openhisp_delivery_attempts_failed_total',
    help: 'Attempts at a destination that failed for some recipients, by reason and by what the last attempt there brought (class).',
    labels: ['kind', 'reason', 'class'],
    level: 'warn',
    text: 'an attempt to deliver failed',
  },
} as const;
