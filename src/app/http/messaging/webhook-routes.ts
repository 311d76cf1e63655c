import type { Webhooks } from '../../../service/webhook/index.ts';
import { errorResponses } from '../envelope.ts';
import type { RouteModule } from '../types.ts';
import { formatDeadLetter, formatWebhook } from './format-answers.ts';
import { acceptAnyBody } from './request-parts.ts';
import {
  deadLetterListAnswer,
  replayAnswer,
  replayBody,
  secretAnswer,
  webhookAnswer,
  webhookChangeBody,
  webhookCreateBody,
  webhookCreatedAnswer,
  webhookListAnswer,
  webhookParameter,
} from './webhook-schemas.ts';

const base = '/messaging/webhooks';
const one = `${base}/:webhookId`;
const tags = ['webhooks'];

/** Routes of a client's webhooks (Decision 0013). */
export function webhookRoutes({ webhooks }: { readonly webhooks: Webhooks }): RouteModule {
  return (app) => {
    const onRequest = app.requireScope('messaging.api');
    const ok = { status: 'OK' as const };
    app.post(base, {
      onRequest,
      validatorCompiler: acceptAnyBody,
      schema: {
        operationId: 'createWebhook',
        summary: 'Register a webhook',
        description:
          'Notifications are signed by the rules of Standard Webhooks with the secret in this answer, which is shown only once. They are delivered at least once, in any order.',
        tags,
        body: webhookCreateBody,
        response: { 201: webhookCreatedAnswer, ...errorResponses(401, 403, 409, 413, 415) },
      },
      handler: async (request, reply) => {
        const { webhook, secret } = await webhooks.create(request.client.clientId, request.body);
        return reply
          .code(201)
          .header('Cache-Control', 'no-store')
          .send({ ...ok, webhook: formatWebhook(webhook), secret });
      },
    });
    app.get(base, {
      onRequest,
      schema: {
        operationId: 'listWebhooks',
        summary: 'List your webhooks',
        description: 'All webhooks, without their secrets.',
        tags,
        response: { 200: webhookListAnswer, ...errorResponses(401, 403) },
      },
      handler: async (request) => ({
        ...ok,
        result: (await webhooks.hooks.list(request.client.clientId)).map(formatWebhook),
      }),
    });
    app.get(one, {
      onRequest,
      schema: {
        operationId: 'getWebhook',
        summary: 'Show a webhook',
        description: 'One of your webhooks, without its secret.',
        tags,
        params: webhookParameter,
        response: { 200: webhookAnswer, ...errorResponses(401, 403, 404) },
      },
      handler: async (request) => ({
        ...ok,
        webhook: formatWebhook(await webhooks.hooks.get(request.client.clientId, request.params.webhookId)),
      }),
    });
    app.patch(one, {
      onRequest,
      validatorCompiler: acceptAnyBody,
      schema: {
        operationId: 'updateWebhook',
        summary: 'Change a webhook',
        description:
          'Changes the given properties and keeps the others. When the URL changes or the webhook is enabled, the notifications that wait are sent at once.',
        tags,
        params: webhookParameter,
        body: webhookChangeBody,
        response: { 200: webhookAnswer, ...errorResponses(401, 403, 404, 413, 415) },
      },
      handler: async (request) => ({
        ...ok,
        webhook: formatWebhook(
          await webhooks.update(request.client.clientId, request.params.webhookId, request.body),
        ),
      }),
    });
    app.delete(one, {
      onRequest,
      schema: {
        operationId: 'deleteWebhook',
        summary: 'Remove a webhook',
        description: 'Waiting notifications are deleted, too.',
        tags,
        params: webhookParameter,
        response: {
          204: { type: 'null', description: 'Removed.' },
          ...errorResponses(401, 403, 404, 413, 415),
        },
      },
      handler: async (request, reply) => {
        await webhooks.hooks.remove(
          request.client.clientId,
          (request.params as { webhookId: string }).webhookId,
        );
        return reply.code(204).send(null as never);
      },
    });
    app.post(`${one}/rotate-secret`, {
      onRequest,
      schema: {
        operationId: 'rotateWebhookSecret',
        summary: 'Create a new signing secret',
        description:
          'For one day, notifications are signed with both the new and the previous secret, after repeated rotations with up to four previous ones.',
        tags,
        params: webhookParameter,
        response: { 200: secretAnswer, ...errorResponses(401, 403, 404, 413, 415) },
      },
      handler: async (request, reply) => {
        const secret = await webhooks.hooks.rotateSecret(request.client.clientId, request.params.webhookId);
        return reply.header('Cache-Control', 'no-store').send({ ...ok, secret });
      },
    });
    app.get(`${one}/dead-letters`, {
      onRequest,
      schema: {
        operationId: 'listWebhookDeadLetters',
        summary: 'List notifications that could not be delivered',
        description:
          'The oldest 200, oldest first, without content. By default they are deleted after 90 days.',
        tags,
        params: webhookParameter,
        response: { 200: deadLetterListAnswer, ...errorResponses(401, 403, 404) },
      },
      handler: async (request) => ({
        ...ok,
        result: (await webhooks.listDeadLetters(request.client.clientId, request.params.webhookId)).map(
          formatDeadLetter,
        ),
      }),
    });
    app.post(`${one}/replay`, {
      onRequest,
      validatorCompiler: acceptAnyBody,
      schema: {
        operationId: 'replayWebhookDeadLetters',
        'x-optional-body': true,
        summary: 'Send undelivered notifications again',
        description: 'Retries the named dead letters, or all of them if the body is omitted.',
        tags,
        params: webhookParameter,
        body: replayBody,
        response: { 200: replayAnswer, ...errorResponses(401, 403, 404, 413, 415) },
      },
      handler: async (request) => ({
        ...ok,
        replayed: await webhooks.replay(request.client.clientId, request.params.webhookId, request.body),
      }),
    });
  };
}
