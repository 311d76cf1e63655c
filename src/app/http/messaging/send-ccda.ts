import type { FastifyReply, FastifyRequest } from 'fastify';
import { systemClock, type Clock, createTokenBuckets } from '../../../core/index.ts';
import type { DiskGuard } from '../../../platform/index.ts';
import { maxBodyBytes, MessagingError, type Messaging } from '../../../service/messaging/index.ts';
import { errorResponses, jsonMediaType } from '../envelope.ts';
import { setRateLimitHeaders } from '../rate-limit-headers.ts';
import type { RouteModule } from '../types.ts';
import { acceptAnyBody, originOf } from './request-parts.ts';
import { sendAnswer, sendBody } from './schemas.ts';

export interface SendRouteOptions {
  readonly messaging: Messaging;
  /** The sends of a client without limits of its own (Decision 0007). */
  readonly sendLimits?: { readonly ratePerSecond: number; readonly burst: number };
  readonly clock?: Clock;
  /** Whether there is room for more; without it there always is. */
  readonly disk?: Pick<DiskGuard, 'requireRoom'>;
}

const usualSendLimits = { ratePerSecond: 20, burst: 40 };

/** Messaging spec: Send message. */
export function sendCcdaRoute({
  messaging,
  sendLimits = usualSendLimits,
  clock = systemClock,
  disk,
}: SendRouteOptions): RouteModule {
  const buckets = createTokenBuckets({ ...sendLimits, clock });
  return (app) => {
    // The quota is taken before the body is read: a refused send costs no memory.
    const takeFromQuota = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const { clientId, limits } = request.client;
      const rate = {
        ratePerSecond: limits.sendsPerSecond ?? sendLimits.ratePerSecond,
        burst: limits.sendsBurst ?? sendLimits.burst,
      };
      const taken = buckets.take(clientId, 1, rate);
      setRateLimitHeaders(reply, taken);
      if (taken.allowed) return;
      throw new MessagingError('MESSAGING_RATE_LIMITED', `client ${clientId} sends too fast`, {
        retryAfterSeconds: taken.retryAfterSeconds,
      });
    };
    const requireRoom = async (request: FastifyRequest): Promise<void> =>
      disk?.requireRoom(Number(request.headers['content-length'] ?? 0));
    app.post(
      '/messaging/dirmsg/send_ccda',
      {
        onRequest: [app.requireScope('messaging.api'), requireRoom, takeFromQuota],
        bodyLimit: maxBodyBytes(messaging.limits),
        validatorCompiler: acceptAnyBody,
        schema: {
          summary: 'Send a message',
          description:
            'Messaging API version 2.1. Stores the message durably and answers; each recipient then has a status of its own. Any media type may be sent, C-CDA is not required. ' +
            'Unknown fields are refused, empty ones count as absent. All faults are reported at once.',
          tags: ['messaging'],
          body: sendBody(messaging.limits),
          response: { 200: sendAnswer, ...errorResponses(400, 401, 403, 409, 413, 415) },
        },
      },
      async (request, reply) => {
        const answer = await messaging.send(request.client, request.body, originOf(request));
        return reply.type(jsonMediaType).send(answer.json as never);
      },
    );
  };
}
