import fastify, { type FastifyServerOptions, type FastifyReply, type FastifyRequest } from 'fastify';
import packageJson from '../../../package.json' with { type: 'json' };
import type { ConnectionRefusal, Log } from '../../core/index.ts';
import { createEmit, readTlsFiles, type Config, type Metrics, isLoopback } from '../../platform/index.ts';
import type { Audit } from '../../service/audit/index.ts';
import type { Oauth } from '../../service/oauth/index.ts';
import { addAdmission } from './admission.ts';
import { addCompression } from './compress.ts';
import { addDocument, type ExampleAddresses } from './document/index.ts';
import { sendRefusal } from './error-map.ts';
import { httpEvents } from './events.ts';
import { healthRoutes, type DegradedComponent, type ReadinessChecks } from './health-routes.ts';
import { limitConnections } from './limit-connections.ts';
import { refuseAmbiguousRequests } from './refuse-ambiguous.ts';
import { refuseUnparsed } from './refuse-unparsed.ts';
import { refuseWhileClosing } from './refuse-while-closing.ts';
import { addRequestId, chooseRequestId } from './request-id.ts';
import { addScopeCheck, findClient } from './require-scope.ts';
import { addSecurityHeaders } from './security-headers.ts';
import { tokenRoutes } from './token-route.ts';
import type { HispFastify, RouteModule } from './types.ts';
import { refuseWhileStuck } from './refuse-while-stuck.ts';
import { addUnknownAddress } from './unknown-address.ts';
import { compileValidator } from './validation.ts';
import { HttpError } from './errors.ts';

export interface HttpAppOptions {
  readonly config: Config['http'];
  readonly log: Log;
  readonly oauth: Oauth;
  readonly metrics: Metrics;
  readonly audit?: Audit;
  readonly checks?: ReadinessChecks;
  /** Addresses in the examples of the API document; by default reserved ones. */
  readonly exampleAddresses?: ExampleAddresses | undefined;
  /** Degraded parts that `/health/ready` lists without failing. */
  readonly degraded?: () => readonly DegradedComponent[];
  /** True while requests could only wait for the database: they get 503 at once. */
  readonly isStuck?: () => boolean;
  /** Told of each connection that is closed because there are too many. */
  readonly onClosed?: (reason: ConnectionRefusal) => void;
  readonly routes: readonly RouteModule[];
  /** Time for running requests to finish after `close`; 10 s if omitted. */
  readonly closeGraceMs?: number;
}

/** Time for a whole request to come in: 40 MB over a slow line. */
const requestTimeoutMs = 300_000;

/**
 * The REST API without its services: everything that all routes share, and the routes passed in. Listen with
 * `app.listen({ host, port })`, end with `app.close()`, which lets running requests finish for a while.
 */
export async function createHttpApp(options: HttpAppOptions): Promise<HispFastify> {
  const { config, log, oauth, metrics, audit, checks = {} } = options;
  const app = fastify(serverOptions(options)) as unknown as HispFastify;
  app.setValidatorCompiler(compileValidator);
  // No route takes plain text; without this the framework would hand it to them.
  app.removeContentTypeParser('text/plain');
  app.setErrorHandler((error, request, reply) => sendRefusal(error, request, reply, log));
  addRequestId(app);
  addObservation(app, { log, metrics });
  refuseWhileClosing(app);
  const emit = createEmit(httpEvents, { metrics, log });
  refuseAmbiguousRequests(app);
  addUnknownAddress(app, log);
  addSecurityHeaders(app, {
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    isHttps: config.tlsKeyFile !== undefined || config.isBehindTlsProxy,
  });
  refuseWhileStuck(app, options.isStuck);
  limitConnections(app.server, config, options.onClosed);
  const admission = addAdmission(app, { config, metrics, emit });
  addCompression(app);
  addScopeCheck(app, { oauth, audit, emit, admission });
  await addDocument(app, {
    version: packageJson.version,
    publicUrl: config.publicUrl,
    exampleAddresses: options.exampleAddresses,
  });
  const own = [
    tokenRoutes({ oauth, log, emit, publicUrl: config.publicUrl }),
    healthRoutes({ checks, degraded: options.degraded, log }),
    ...(config.metricsPort === 0 ? [metricsRoute({ metrics, isPublic: config.exposesMetrics })] : []),
  ];
  for (const routes of [...own, ...options.routes]) {
    await app.register(async (scope) => routes(scope as unknown as HispFastify));
  }
  limitClosing(app, options.closeGraceMs ?? defaultCloseGraceMs);
  await app.ready();
  return app;
}

const defaultCloseGraceMs = 10_000;

// Idle connections are closed at once. A client that neither ends its request nor reads its answer must not
// keep the process from ending.
function limitClosing(app: HispFastify, graceMs: number): void {
  app.addHook('preClose', async () => {
    const timer = setTimeout(() => app.server.closeAllConnections(), graceMs).unref();
    app.server.once('close', () => clearTimeout(timer));
  });
}

/**
 * Longer than the head of a request may be: whatever stands in a path is checked by its route, as in a query.
 */
const maxParamLength = 16_384;

/**
 * Node would answer a request without Host itself, without the error envelope; `refuseAmbiguousRequests`
 * does.
 */
const leftToHooks = { requireHostHeader: false } as const;

function serverOptions({ config, log }: HttpAppOptions): FastifyServerOptions {
  const tls = readTlsFiles('http', config);
  return {
    // OAUTH-15: TLS 1.2 at least.
    ...(tls === undefined
      ? { http: leftToHooks }
      : { https: { ...tls, minVersion: 'TLSv1.2', ...leftToHooks } }),
    logger: false,
    genReqId: chooseRequestId,
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
    bodyLimit: config.maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    clientErrorHandler: refuseUnparsed,
    routerOptions: { maxParamLength, ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => {
      void sendRefusal(error, request, reply, log);
    },
  } as FastifyServerOptions;
}

/** `/metrics` in the text format of Prometheus; to others than this machine only if the operator says so. */
function metricsRoute({
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

const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * One log line and one observation per request. The route's pattern stands for the address: query strings and
 * path values may name persons.
 */
function addObservation(
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
