import cookie from '@fastify/cookie';
import fastify, { type FastifyRequest, type FastifyServerOptions } from 'fastify';
import { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Closable } from '../../core/index.ts';
import { readTlsFiles, usualConsolePort, type TlsFiles } from '../../platform/index.ts';
import {
  addRequestId,
  addSecurityHeaders,
  chooseRequestId,
  createJsonParser,
  limitConnections,
  refuseAmbiguousRequests,
  refuseWhileClosing,
  refuseWhileStuck,
  sendRefusal,
} from '../http/index.ts';
import { accessRoutes } from './access-routes.ts';
import { buildIfStale } from './build-if-stale.ts';
import { createConsoleCookie } from './cookies.ts';
import { endStreams } from './end-streams.ts';
import { addDocument } from './add-document.ts';
import { addGuard, addOrigin, apiPrefix } from './guard.ts';
import { openIdRoutes } from './open-id-routes.ts';
import { operatorRoutes } from './operator-routes.ts';
import { ownPasskeyRoutes } from './own-passkey-routes.ts';
import { createOwnedReader } from './owned.ts';
import { passkeyRoutes } from './passkey-routes.ts';
import { publicAddressOf, type PublicAddress } from './public-address.ts';
import { refuseForeignRequests } from './refuse-foreign.ts';
import { createScreenRoutes } from './routes/index.ts';
import { lazySerializers } from './lazy-serializers.ts';
import { lazyValidators } from './lazy-validators.ts';
import { createSignInTools } from './sign-in-tools.ts';
import { addStaticFiles } from './static-files.ts';
import type { ConsoleApp, ConsoleServices } from './types.ts';

export interface ConsoleListener extends Closable {
  /** The address that browsers use. */
  readonly url: string;
  readonly port: number;
  /** Applies to new connections. */
  renewTls(files: TlsFiles): void;
}

const maxConnections = 500;
const maxConnectionsPerAddress = 200;
const maxBodyBytes = 1_000_000;
const requestTimeoutMs = 300_000;
/** Streams of live events do not end otherwise. */
const closeGraceMs = 500;

/**
 * Starts the console: the front end, and the API for operators under `/admin/v1`, on a listener that serves
 * nothing else.
 */
export async function startConsole(services: ConsoleServices): Promise<ConsoleListener> {
  const { config, log, operators, audit } = services;
  let address = publicAddressOf(config.console, config.console.port ?? usualConsolePort);
  const findAddress = (): PublicAddress => address;
  const app = fastify(serverOptions(services)) as unknown as ConsoleApp;
  app.setValidatorCompiler(lazyValidators);
  app.removeContentTypeParser(['text/plain', 'application/json']);
  const parseJson = createJsonParser(app);
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => parseJson(request, body),
  );
  app.setErrorHandler((error, request, reply) => sendRefusal(error, request, reply, log));
  addRequestId(app);
  refuseWhileClosing(app);
  // The front end itself is answered: it says what the service refuses.
  refuseWhileStuck(app, services.isStuck, ({ url }) => !url.startsWith(`${apiPrefix}/`));
  refuseAmbiguousRequests(app);
  await app.register(cookie);
  addHeaders(app, address.isHttps);
  refuseForeignRequests(app, findAddress);
  const cookies = { address: findAddress, clock: services.clock };
  const sessionCookie = createConsoleCookie(cookies, 'openhisp_session');
  const guard = { operators, audit, sessionCookie, owned: createOwnedReader(services) };
  addGuard(app, guard);
  addOrigin(app);
  endStreams(app, guard);
  const tools = createSignInTools(sessionCookie);
  // The browser would not send a Strict cookie after the redirect from the provider.
  const stateCookie = createConsoleCookie(cookies, 'openhisp_oidc', 'lax');
  const ceremonyCookie = createConsoleCookie(cookies, 'openhisp_sign_in');
  await addDocument(app, services.version);
  const passkeyParts = { services, tools, ceremonyCookie, address: findAddress };
  const routes = [
    accessRoutes({ services, tools, sessionCookie }),
    passkeyRoutes(passkeyParts),
    ownPasskeyRoutes(passkeyParts),
    operatorRoutes({ services, address: findAddress }),
    openIdRoutes({ services, tools, stateCookie, address: findAddress }),
    ...createScreenRoutes(services),
  ];
  for (const one of routes)
    await app.register(async (scope) => one(scope as unknown as ConsoleApp), { prefix: apiPrefix });
  await buildIfStale(log);
  await addStaticFiles(app, log);
  app.addHook('preClose', async () => {
    const timer = setTimeout(() => app.server.closeAllConnections(), closeGraceMs).unref();
    app.server.once('close', () => clearTimeout(timer));
  });
  limitConnections(app.server, { maxConnections, maxConnectionsPerAddress }, services.onClosed);
  const port = await listen(app, services);
  address = publicAddressOf(config.console, port);
  return {
    url: address.origin,
    port,
    renewTls({ key, cert }) {
      if (app.server instanceof HttpsServer)
        app.server.setSecureContext({ key, cert, minVersion: 'TLSv1.2' });
    },
    close: () => app.close(),
  };
}

function serverOptions({ config, log }: ConsoleServices): FastifyServerOptions {
  const { trustedProxies } = config.console;
  const tls = readTlsFiles('console', config.console);
  return {
    ...(tls === undefined ? {} : { https: { ...tls, minVersion: 'TLSv1.2' } }),
    logger: false,
    genReqId: chooseRequestId,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    schemaController: { compilersFactory: { buildSerializer: lazySerializers } },
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => {
      void sendRefusal(error, request, reply, log);
    },
  } as FastifyServerOptions;
}

/** No inline code, no other origins; no page may frame the console. */
function addHeaders(app: ConsoleApp, isHttps: boolean): void {
  addSecurityHeaders(app, {
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      fontSrc: ["'self'"],
      manifestSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
    isHttps,
  });
  app.addHook('onRequest', async (_request, reply) => {
    reply.header(
      'Permissions-Policy',
      'publickey-credentials-get=(self), publickey-credentials-create=(self)',
    );
  });
}

/**
 * Mail must not stop because another program uses the default port: then a free port is used, and the log
 * names it.
 */
async function listen(app: ConsoleApp, { config, log }: ConsoleServices): Promise<number> {
  const { host, port } = config.console;
  const preferred = port ?? (config.http.port === 0 ? 0 : usualConsolePort);
  try {
    await app.listen({ host, port: preferred });
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    if (!isTaken || port !== undefined) throw error;
    await app.listen({ host, port: 0 });
    log.warn(
      { port: (app.server.address() as AddressInfo).port },
      `port ${usualConsolePort} is in use, so the console listens on another port; set console.port`,
    );
  }
  return (app.server.address() as AddressInfo).port;
}
