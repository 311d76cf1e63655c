import { createGrowingCache } from '../../core/index.ts';

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

/**
 * This node's class of a destination: `new`, no attempt since the start; `steady`, its last attempt was not
 * an outage; `failing`, it was. Few values instead of one per domain, so that a metric distinguishes partners
 * that begin to fail from those that always do.
 */
type DestinationClass = 'new' | 'steady' | 'failing';

interface DestinationClasses {
  get(domain: string): DestinationClass;
  /** The class before this attempt, whose end is noted. */
  note(domain: string, isOutage: boolean): DestinationClass;
}

const maxDestinations = 10_000;

export function createDestinationClasses(): DestinationClasses {
  const classes = createGrowingCache<DestinationClass>(maxDestinations);
  const get = (domain: string): DestinationClass => classes.get(domain) ?? 'new';
  return {
    get,
    note(domain, isOutage) {
      const before = get(domain);
      classes.set(domain, isOutage ? 'failing' : 'steady');
      return before;
    },
  };
}
