import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../../core/index.ts';
import type { Metrics } from '../../platform/index.ts';
import { findClient } from './require-scope.ts';
import type { HispFastify } from './types.ts';

const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * One log line and one observation per request. The route's pattern stands for the address: query strings and
 * path values may name persons.
 */
export function addObservation(
  app: HispFastify,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
): void {
  const duration = metrics.histogram({
    name: 'openhisp_http_request_seconds',
    help: 'Time from request to answer.',
    labels: ['method', 'route', 'status'],
    buckets: durationBuckets,
  });
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'unknown';
    duration.observe(reply.elapsedTime / 1000, { method: request.method, route, status: reply.statusCode });
    log.debug(describe(request, reply, route), 'request');
  });
}

function describe(
  request: FastifyRequest,
  reply: FastifyReply,
  route: string,
): Readonly<Record<string, unknown>> {
  return {
    requestId: request.id,
    method: request.method,
    route,
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime),
    clientId: findClient(request)?.clientId,
    remoteAddress: request.ip,
  };
}
