/** The service's HTTP side over an open directory, a fixed page next to it, and a process that asks for both. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { directoryRoutes } from '../../src/app/http/directory/index.ts';
import { fhirRoutes } from '../../src/app/http/fhir/index.ts';
import { createHttpApp, type RouteModule } from '../../src/app/http/index.ts';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { createMetrics, loadConfig } from '../../src/platform/index.ts';
import { createOauth } from '../../src/service/oauth/index.ts';
import type { LoadOrder, LoadResult } from './http-load.ts';
import type { OpenDirectory } from './import.ts';

export interface HttpTarget {
  /** Asks the directory; `query` is the query string of each request. */
  ask(queries: readonly string[], order: Omit<LoadOrder, 'paths'>): Promise<LoadResult>;
  /** Asks for whole paths, in turn. */
  askPaths(paths: readonly string[], order: Omit<LoadOrder, 'paths'>): Promise<LoadResult>;
  /** Asks for a page of so many bytes that costs nothing to make, behind the same token check. */
  askFixed(bytes: number, order: Omit<LoadOrder, 'paths'>): Promise<LoadResult>;
  close(): Promise<void>;
}

export async function openHttpTarget({
  directory,
  storage,
  vault,
  audit,
}: OpenDirectory): Promise<HttpTarget> {
  const oauth = createOauth({ storage, vault, clock: systemClock, audit });
  let fixedPage = Buffer.alloc(0);
  const fixedRoute: RouteModule = (app) => {
    app.get('/fixed', { onRequest: app.requireScope('provider-directory') }, async (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(fixedPage),
    );
  };
  const app = await createHttpApp({
    config: loadConfig({}).http,
    log: silentLog,
    oauth,
    audit,
    metrics: createMetrics(),
    routes: [
      directoryRoutes({ directory }),
      fhirRoutes({ fhir: directory.fhir, version: '0', publicUrl: undefined }),
      fixedRoute,
    ],
  });
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  const load = startLoad(baseUrl, `Bearer ${await getToken(oauth, baseUrl)}`);
  return {
    ask: (queries, order) =>
      load.run({ ...order, paths: queries.map((query) => `/provider-directory/v2/providers?${query}`) }),
    askPaths: (paths, order) => load.run({ ...order, paths }),
    askFixed(bytes, order) {
      fixedPage = Buffer.alloc(bytes, ' ');
      return load.run({ ...order, paths: ['/fixed'] });
    },
    async close() {
      load.close();
      await app.close();
    },
  };
}

async function getToken(oauth: ReturnType<typeof createOauth>, baseUrl: string): Promise<string> {
  const client = await oauth.clients.create({
    name: 'benchmark',
    scopes: ['provider-directory'],
    dataUseAcceptedAt: systemClock.now(),
  });
  return await fetchToken(baseUrl, client);
}

export async function fetchToken(
  baseUrl: string,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
): Promise<string> {
  const response = await fetch(`${baseUrl}/oauth2/direct/v1/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'provider-directory' }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

export interface Load {
  run(order: LoadOrder): Promise<LoadResult>;
  close(): void;
}

/** One process for all orders, so that what asks is as warm as what answers. */
export function startLoad(baseUrl: string, authorization: string): Load {
  const program = path.join(import.meta.dirname, 'http-load.ts');
  const child = spawn(process.execPath, [program, baseUrl, authorization], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async run(order) {
      child.stdin.write(`${JSON.stringify(order)}\n`);
      const { value, done } = await answers.next();
      if (done === true) throw new Error('the process that asks has ended');
      const result = JSON.parse(value) as LoadResult;
      if (result.failures > 0) throw new Error(`${result.failures} answers were no success`);
      return result;
    },
    close: () => child.stdin.end(),
  };
}
