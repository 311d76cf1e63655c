import { createGrowingCache } from '../../core/index.ts';

/**
 * This node's class of a destination: `new`, no attempt since the start; `steady`, its last attempt was not
 * an outage; `failing`, it was. Few values instead of one per domain, so that a metric distinguishes partners
 * that begin to fail from those that always do.
 */
export type DestinationClass = 'new' | 'steady' | 'failing';

export interface DestinationClasses {
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
