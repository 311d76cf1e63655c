import { type Taken } from '../../core/index.ts';
import type { FastifyReply } from 'fastify';

/** Tells a client how much of its allowance is left (Decision 0007; draft-ietf-httpapi-ratelimit-headers, in its plain form). */
export function setRateLimitHeaders(reply: FastifyReply, taken: Taken): void {
  reply
    .header('RateLimit-Limit', String(taken.limit))
    .header('RateLimit-Remaining', String(taken.remaining))
    .header('RateLimit-Reset', String(taken.retryAfterSeconds));
}
