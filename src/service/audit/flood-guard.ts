import { type Clock, createTokenBuckets, networkOf } from '../../core/index.ts';
import type { AuditEvent } from './audit-event.ts';

/** Rows that outsiders at one address can cause: a burst, then a trickle. */
const unauthenticatedRowsBurst = 200;
const unauthenticatedRowsPerSecond = 5;
/** Addresses whose suppressed rows are counted. */
const maxAddresses = 10_000;

/**
 * Prevents callers without credentials from filling the disk with refusals. Omitted rows are counted in the
 * next row that the address gets (`suppressed`). Events with an actor are never left out.
 */
export function createFloodGuard(clock: Clock): (event: AuditEvent) => AuditEvent | undefined {
  const buckets = createTokenBuckets({
    ratePerSecond: unauthenticatedRowsPerSecond,
    burst: unauthenticatedRowsBurst,
    clock,
  });
  const suppressed = new Map<string, number>();
  return (event) => {
    if (event.outcome === 'ok' || event.actor !== undefined || event.remoteAddress === undefined)
      return event;
    // One IPv6 customer has a whole /64.
    const network = networkOf(event.remoteAddress);
    const count = suppressed.get(network) ?? 0;
    if (!buckets.take(network).allowed) {
      if (count > 0 || suppressed.size < maxAddresses) suppressed.set(network, count + 1);
      return undefined;
    }
    suppressed.delete(network);
    return count === 0 ? event : { ...event, objects: { ...event.objects, suppressed: count } };
  };
}
