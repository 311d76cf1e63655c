import { isLoopback, type Metrics } from '../../platform/index.ts';
import { HttpError } from './errors.ts';
import type { RouteModule } from './types.ts';

/** `/metrics` in the text format of Prometheus; to others than this machine only if the operator says so. */
export function metricsRoute({
  metrics,
  isPublic,
}: {
  readonly metrics: Metrics;
  readonly isPublic: boolean;
}): RouteModule {
  return (app) => {
    app.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
      if (!isPublic && !isLoopback(request.ip))
        throw new HttpError('HTTP_ROUTE_UNKNOWN', 'metrics are for this machine');
      return reply.type(metrics.contentType).send(await metrics.text());
    });
  };
}
