import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { errorText, type Closable, type Log } from '../../core/index.ts';
import { isDatabaseAway, readTlsFiles, type Config } from '../../platform/index.ts';
import { buildErrorEnvelope, chooseRequestId, jsonMediaType } from '../http/index.ts';

const tryEveryMs = 2_000;
const logEveryMs = 60_000;

/**
 * Opens the database, and waits for it while it does not answer, up to `storage.startWaitSeconds`. Meanwhile
 * the log says so once per minute, `onWaiting` is told once, and the port of the API answers `/health/live`
 * with 200 and everything else with 503. Rejects with the last error.
 */
export async function awaitDatabase<T>(
  open: () => Promise<T>,
  { config, log, onWaiting }: { config: Config; log: Log; onWaiting: ((text: string) => void) | undefined },
): Promise<T> {
  const startedMs = performance.now();
  const limitMs = config.storage.startWaitSeconds * 1000;
  let loggedMs = -Infinity;
  let answering: Closable | undefined;
  try {
    for (;;) {
      try {
        const opened = await open();
        if (answering !== undefined) log.info({}, 'the database answers');
        return opened;
      } catch (error) {
        const waitedMs = performance.now() - startedMs;
        if (!isDatabaseAway(error) || waitedMs >= limitMs) throw error;
        if (performance.now() - loggedMs >= logEveryMs) {
          loggedMs = performance.now();
          const waitedSeconds = Math.round(waitedMs / 1000);
          log.warn(
            { problem: errorText(error), waitedSeconds, limitSeconds: config.storage.startWaitSeconds },
            'the start waits for the database (storage.startWaitSeconds)',
          );
        }
        if (answering === undefined) {
          onWaiting?.('waits for the database');
          answering = await answerMeanwhile(config, log);
        }
        await wait(tryEveryMs);
      }
    }
  } finally {
    await answering?.close();
  }
}

const nothing: Closable = { close: async () => {} };

/** Without a fixed port nobody asks. */
async function answerMeanwhile({ http }: Config, log: Log): Promise<Closable> {
  if (http.port === 0) return nothing;
  const limits = { requestTimeout: 10_000, maxHeaderSize: 16_384 };
  const tls = readTlsFiles('http', http);
  const server: Server =
    tls === undefined
      ? createPlainServer(limits, answer)
      : createTlsServer({ ...tls, minVersion: 'TLSv1.2', ...limits }, answer);
  server.maxConnections = http.maxConnectionsPerAddress;
  const { promise, resolve } = Promise.withResolvers<Closable>();
  server.once('error', (error) => {
    // The port may be in use: the start itself says so later.
    log.debug({ problem: errorText(error) }, 'no answers while the start waits');
    resolve(nothing);
  });
  server.listen({ host: http.host, port: http.port }, () =>
    resolve({
      async close() {
        server.closeAllConnections();
        await new Promise<void>((closed) => server.close(() => closed()));
      },
    }),
  );
  return promise;
}

const answer: RequestListener = (request, response) => {
  response.shouldKeepAlive = false;
  const type = { 'Content-Type': jsonMediaType };
  if (request.method === 'GET' && request.url?.split('?', 1)[0] === '/health/live') {
    response.writeHead(200, type).end('{"status":"OK"}');
    return;
  }
  const requestId = chooseRequestId(request);
  const problem = {
    field: 'storage',
    reason: 'not_ready',
    detail: 'The service starts, and waits for its database.',
  };
  response
    .writeHead(503, { ...type, 'Retry-After': '5', 'X-Request-Id': requestId })
    .end(JSON.stringify(buildErrorEnvelope(503, [problem], requestId)));
};
