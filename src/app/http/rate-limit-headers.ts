import type { RateLimitResult } from '../../core/index.ts';
import type { FastifyReply } from 'fastify';

/**
 * Writes the state of a client's rate limit (Decision 0007; draft-ietf-httpapi-ratelimit-headers, in its
 * plain form).
 */
export function setRateLimitHeaders(reply: FastifyReply, rateLimit: RateLimitResult): void {
  reply
    .header('RateLimit-Limit', String(rateLimit.limit))
    .header('RateLimit-Remaining', String(rateLimit.remaining))
    .header('RateLimit-Reset', String(rateLimit.nextSeconds));
}
