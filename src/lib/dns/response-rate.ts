import { isIPv4 } from 'node:net';
import { type Clock, createTokenBuckets } from '../../core/index.ts';
import { maxRateEntries, udpResponseBurst, udpResponsesPerSecond } from './limits.ts';

/** Decides whether a network still gets full answers over UDP. */
export interface ResponseRate {
  allows(address: string): boolean;
}

export interface ResponseRateOptions {
  readonly clock: Clock;
  /** 0 switches the limit off. */
  readonly perSecond?: number;
  readonly burst?: number;
}

/**
 * Limits the answers to each network (IPv4 /24, IPv6 /56): the source of a datagram is easily forged, and a small
 * question with a certificate for an answer would make us a means to flood others. Networks over the limit get
 * truncated answers, no larger than their questions; an honest asker then comes over TCP.
 */
export function createResponseRate(options: ResponseRateOptions): ResponseRate {
  const { clock, perSecond = udpResponsesPerSecond, burst = udpResponseBurst } = options;
  if (perSecond === 0) return { allows: () => true };
  const buckets = createTokenBuckets({
    ratePerSecond: perSecond,
    burst,
    clock,
    maxBuckets: maxRateEntries,
  });
  return { allows: (address) => buckets.take(networkOf(address)).allowed };
}

function networkOf(address: string): string {
  if (isIPv4(address)) return address.slice(0, address.lastIndexOf('.'));
  const mapped = /^::ffff:(?<ipv4>\d+\.\d+\.\d+)\.\d+$/i.exec(address)?.groups?.['ipv4'];
  if (mapped !== undefined) return mapped;
  // The first 56 bits: three whole groups and half of the fourth. Short forms end earlier, which only widens them.
  const groups = address.split(':').slice(0, 4);
  return groups.map((group, index) => (index < 3 ? group : group.padStart(4, '0').slice(0, 2))).join(':');
}
