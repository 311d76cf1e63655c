import type { Webhooks } from '../../../service/webhook/index.ts';
import type { HispFastify, RouteModule } from '../types.ts';
import { acceptJson } from './read-body.ts';
import { inboxRoutes } from './inbox-routes.ts';
import { statusRoutes } from './status-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DiskGuard } from '../../../platform/index.ts';
import { maxBodyBytes, type Messaging } from '../../../service/messaging/index.ts';
import { errorResponses, jsonMediaType } from '../envelope.ts';
import { setRateLimitHeaders } from '../rate-limit-headers.ts';
import { acceptAnyBody, originOf } from './request-parts.ts';
import { sendAnswer, sendBody } from './schemas.ts';

export interface MessagingRoutesOptions extends SendRouteOptions {
  readonly webhooks: Webhooks;
}

export function messagingRoutes(options: MessagingRoutesOptions): RouteModule {
  return async (app) => {
    // In its own scope, since only this route takes bodies that are not parsed yet.
    await app.register(async (scope) => {
      const own = scope as unknown as HispFastify;
      acceptJson(own, { keepsLarge: true });
      await sendCcdaRoute(options)(own);
    });
    acceptJson(app, { keepsLarge: false });
    for (const routes of [statusRoutes(options), inboxRoutes(options), webhookRoutes(options)])
      await routes(app);
  };
}

interface SendRouteOptions {
  readonly messaging: Messaging;
  /** True if there is room for another request; if absent, there always is. */
  readonly disk?: Pick<DiskGuard, 'requireRoom'>;
}

/** Messaging spec: Send message. */
function sendCcdaRoute({ messaging, disk }: SendRouteOptions): RouteModule {
  return (app) => {
    // The rate limit is checked before the body is read: a refused send costs no memory.
    const limitSends = async (request: FastifyRequest, reply: FastifyReply): Promise<void> =>
      messaging.limitSends(request.client, (rateLimit) => setRateLimitHeaders(reply, rateLimit));
    const requireRoom = async (request: FastifyRequest): Promise<void> =>
      disk?.requireRoom(Number(request.headers['content-length'] ?? 0));
    app.post(
      '/messaging/dirmsg/send_ccda',
      {
        onRequest: [app.requireScope('messaging.api'), requireRoom, limitSends],
        bodyLimit: maxBodyBytes(messaging.limits),
        validatorCompiler: acceptAnyBody,
        schema: {
          operationId: 'sendMessage',
          'x-rate-limited': true,
          summary: 'Send a message',
          description:
            'Messaging API version 2.1. Stores the message durably and answers; each recipient then has a separate status. Any media type may be sent, C-CDA is not required. ' +
            'Unknown fields are refused, empty ones count as absent. All faults are reported at once.',
          tags: ['messaging'],
          body: sendBody(messaging.limits),
          response: { 200: sendAnswer, ...errorResponses(401, 403, 409, 413, 415) },
        },
      },
      async (request, reply) => {
        const answer = await messaging.send(request.client, request.body, originOf(request));
        return reply.type(jsonMediaType).send(answer.json as never);
      },
    );
  };
}
