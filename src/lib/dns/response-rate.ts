import { type Clock, createTokenBuckets, networkOf } from '../../core/index.ts';
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
 * Limits the answers to each network (IPv4 /24, IPv6 /56): the source of a datagram is easily forged, and a
 * small question with a certificate for an answer would make us a means to flood others. Networks over the
 * limit get truncated answers, no larger than their queries; a legitimate client then uses TCP.
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
  return { allows: (address) => buckets.take(networkOf(address, { ipv4Bits: 24, ipv6Bits: 56 })).allowed };
}
