import { isOwned } from '../../../service/organizations/index.ts';
import { healthOfWebhook, type OperatedWebhook } from '../../../service/webhook/index.ts';
import {
  doneAnswer,
  issuedWebhook,
  newWebhook,
  replayRequest,
  webhookDetails,
  webhookList,
  webhookQuery,
  webhookTest,
  type Webhook,
} from '../contract/index.ts';
import { ConsoleError } from '../errors.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import { isRefresh, type Acting } from './acting.ts';
import { countOf, isoOrNull, isoTime } from './formats.ts';

/** Routes of clients' webhooks: state, attempts and dead letters. No secrets. */
export function webhookRoutes(services: ConsoleServices, acting: Acting): ConsoleRoutes {
  async function clientNames(): Promise<ReadonlyMap<string, string>> {
    return new Map((await services.oauth.clients.list()).map(({ clientId, name }) => [clientId, name]));
  }
  return (app) => {
    route(app, 'get', '/webhooks', {
      needs: 'settings.read',
      scope: 'filtered',
      about: ['webhooks', 'List webhooks', 'By client and age.'],
      query: webhookQuery,
      answer: webhookList,
      handle: async (request) => {
        const found = await acting(request).webhooks.list(request.query.client, {
          isRefresh: isRefresh(request),
        });
        const names = await clientNames();
        const some = found.filter(({ clientId }) => isOwned(request.owned, 'clients', clientId));
        return { result: some.map((one) => toWebhook(one, names)) };
      },
    });
    route(app, 'get', '/webhooks/:id', {
      needs: 'settings.read',
      scope: ['webhook', 'id'],
      about: [
        'webhooks',
        'Show a webhook with its attempts and dead letters',
        'Attempts newest first, at most 100; dead letters oldest first, at most 200.',
      ],
      answer: webhookDetails,
      handle: async (request) => {
        const { webhook, attempts, deadLetters } = await acting(request).webhooks.show(request.params.id, {
          isRefresh: isRefresh(request),
        });
        return {
          webhook: toWebhook(webhook, await clientNames()),
          attempts: attempts.map(({ at, httpStatus, ...attempt }) => ({
            ...attempt,
            at: isoTime(at),
            httpStatus: httpStatus ?? null,
            level: attempt.error === '' ? ('ok' as const) : ('failed' as const),
          })),
          deadLetters: deadLetters.map(({ createdAt, settledAt, lastStatus, ...letter }) => ({
            ...letter,
            lastStatus: lastStatus ?? null,
            createdAt: isoTime(createdAt),
            settledAt: isoOrNull(settledAt),
          })),
        };
      },
    });
    route(app, 'post', '/webhooks', {
      needs: 'settings.change',
      scope: 'filtered',
      about: ['webhooks', 'Register a webhook of a client', 'The signing secret is shown only once.'],
      body: newWebhook,
      answer: issuedWebhook,
      status: 201,
      refuses: [404, 409],
      handle: async (request) => {
        const { clientId, ...body } = request.body;
        if (!isOwned(request.owned, 'clients', clientId))
          throw new ConsoleError('CONSOLE_NOT_FOUND', 'the client is not one of this organization');
        const client = await services.oauth.clients.get(clientId);
        const { webhook, secret } = await acting(request).webhooks.create(
          client.clientId,
          body,
          services.webhooks,
        );
        return { id: webhook.id, url: webhook.url, secret };
      },
    });
    route(app, 'post', '/webhooks/:id/replay', {
      needs: 'settings.change',
      scope: ['webhook', 'id'],
      about: ['webhooks', 'Replay dead letters', 'The named ones, or all.'],
      body: replayRequest,
      answer: doneAnswer,
      handle: async (request) => {
        const count = await acting(request).webhooks.replay(request.params.id, request.body.eventIds);
        services.webhooks.wake();
        return { count, sentence: `${countOf(count, 'dead letter')} will be replayed.` };
      },
    });
    for (const [part, isEnabled, summary, details, sentence] of [
      [
        'disable',
        false,
        'Disable a webhook',
        'Its events are held.',
        'The webhook is disabled; its events are held.',
      ],
      [
        'enable',
        true,
        'Enable a webhook',
        'What is held is sent.',
        'The webhook is enabled; what was held is sent.',
      ],
    ] as const)
      route(app, 'post', `/webhooks/:id/${part}`, {
        needs: 'settings.change',
        scope: ['webhook', 'id'],
        about: ['webhooks', summary, details],
        answer: doneAnswer,
        handle: async (request) => {
          const { counts } = await acting(request).webhooks.setEnabled(
            request.params.id,
            isEnabled,
            services.webhooks,
          );
          return { count: counts.held, sentence };
        },
      });
    route(app, 'post', '/webhooks/:id/test', {
      needs: 'settings.change',
      scope: ['webhook', 'id'],
      about: ['webhooks', 'Send a test event', 'One signed event of the type webhook.test, once.'],
      answer: webhookTest,
      handle: async (request) => {
        const result = await acting(request).webhooks.test(request.params.id, services.webhooks);
        const isOk = result.error === '';
        const sentence = isOk
          ? `Accepted: HTTP ${result.httpStatus} after ${Math.round(result.durationMs)} ms.`
          : `Not accepted: ${result.error} after ${Math.round(result.durationMs)} ms.`;
        return { isOk, sentence, ...result };
      },
    });
  };
}

function toWebhook(hook: OperatedWebhook, names: ReadonlyMap<string, string>): Webhook {
  return {
    id: hook.id,
    clientId: hook.clientId,
    clientName: names.get(hook.clientId) ?? '',
    kind: hook.kind,
    url: hook.url.replace(/[?#].*$/, ''),
    description: hook.description,
    eventTypes: [...hook.eventTypes],
    isEnabled: hook.isEnabled,
    ...healthOfWebhook(hook),
    failingSince: isoOrNull(hook.failingSince),
    lastSuccessAt: isoOrNull(hook.lastSuccessAt),
    createdAt: isoTime(hook.createdAt),
    nextAttemptAt: isoOrNull(hook.nextAttemptAt),
    waiting: hook.counts.waiting,
    held: hook.counts.held,
    dead: hook.counts.dead,
  };
}
