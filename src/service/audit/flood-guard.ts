import { type Clock, createTokenBuckets } from '../../core/index.ts';
import type { AuditEvent } from './create-audit.ts';

/** Rows that strangers at one address can cause: a burst, then a trickle. */
const strangerRowsBurst = 200;
const strangerRowsPerSecond = 5;
/** Addresses whose suppressed rows are counted. */
const maxAddresses = 10_000;

/**
 * Keeps somebody without credentials from filling the disk with refusals of himself. What is left out is counted in the
 * next row that the address gets (`suppressed`). Events with an actor are never left out.
 */
export function createFloodGuard(clock: Clock): (event: AuditEvent) => AuditEvent | undefined {
  const buckets = createTokenBuckets({
    ratePerSecond: strangerRowsPerSecond,
    burst: strangerRowsBurst,
    clock,
  });
  const suppressed = new Map<string, number>();
  return (event) => {
    const { remoteAddress } = event;
    if (event.outcome !== 'refused' || event.actor !== undefined || remoteAddress === undefined) return event;
    const count = suppressed.get(remoteAddress) ?? 0;
    if (!buckets.take(remoteAddress).allowed) {
      if (count > 0 || suppressed.size < maxAddresses) suppressed.set(remoteAddress, count + 1);
      return undefined;
    }
    suppressed.delete(remoteAddress);
    return count === 0 ? event : { ...event, objects: { ...event.objects, suppressed: count } };
  };
}
