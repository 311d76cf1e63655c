import type { Webhooks } from '../../../service/webhook/index.ts';
import type { HispFastify, RouteModule } from '../types.ts';
import { inboxRoutes } from './inbox-routes.ts';
import { sendCcdaRoute, type SendRouteOptions } from './send-ccda.ts';
import { statusRoutes } from './status-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';

export interface MessagingRoutesOptions extends SendRouteOptions {
  readonly webhooks: Webhooks;
}

export function messagingRoutes(options: MessagingRoutesOptions): RouteModule {
  return async (app) => {
    acceptEmptyJson(app);
    for (const routes of [
      sendCcdaRoute(options),
      statusRoutes(options),
      inboxRoutes(options),
      webhookRoutes(options),
    ])
      await routes(app);
  };
}

// Many clients name a content type on every POST, also where there is nothing to say (acknowledge, rotate, replay).
function acceptEmptyJson(app: HispFastify): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else void parseJson(request, body as string, done);
  });
}
