import type { Webhooks } from '../../../service/webhook/index.ts';
import type { HispFastify, RouteModule } from '../types.ts';
import { acceptJson } from './read-body.ts';
import { inboxRoutes } from './inbox-routes.ts';
import { sendCcdaRoute, type SendRouteOptions } from './send-ccda.ts';
import { statusRoutes } from './status-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';

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
