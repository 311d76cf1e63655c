/** Counters and log lines; log lines have ids, hosts and codes, counters only the labels. */
export const deliveryEvents = {
  attemptSucceeded: {
    counter: 'openhisp_delivery_attempts_succeeded_total',
    help: 'Attempts in which the destination accepted the message for all recipients, by the class of the destination.',
    labels: ['kind', 'class'],
    level: 'debug',
    text: 'a destination accepted a message',
  },
  attemptFailed: {
    counter: 'openhisp_delivery_attempts_failed_total',
    help: 'Attempts that failed for at least one recipient, by reason and by the class of the destination.',
    labels: ['kind', 'reason', 'class'],
    level: 'warn',
    text: 'an attempt to deliver failed',
  },
} as const;
