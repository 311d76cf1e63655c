/**
 * Whole HTTP requests against a fixed page of the same size from the same server: `node bench/directory/http.ts [records]`.
 * Every request carries a token, is rate-limited, counted and audited; the load comes from another process. Each kind of
 * query is timed twice: one query that is repeated, as popular ones are, and as many different ones as the directory
 * gives, none of them answered before.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { directoryRoutes } from '../../src/app/http/directory/index.ts';
import { createHttpApp, type RouteModule } from '../../src/app/http/index.ts';
import { silentLog, systemClock } from '../../src/core/index.ts';
import { createMetrics, loadConfig } from '../../src/platform/index.ts';
import { createOauth } from '../../src/service/oauth/index.ts';
import type { HttpQuery } from './http-queries.ts';
import { measureImport, openDirectory, sampleQueries, type OpenDirectory } from './import.ts';

/** One load against a fixed page of the same size. */
export interface HttpTiming {
  readonly pageBytes: number;
  readonly requestsPerSecond: number;
  readonly fixedPerSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

export interface HttpTimings {
  readonly name: string;
  readonly repeated: HttpTiming;
  readonly distinct: HttpTiming;
}

/**
 * Measures each kind of query beside a fixed page of its size: turn and turn about, one second each, because other work
 * on the machine comes and goes; the medians count.
 */
export async function measureHttp(
  { directory, storage, audit }: OpenDirectory,
  queries: readonly HttpQuery[],
  rounds = 5,
): Promise<HttpTimings[]> {
  const oauth = createOauth({ storage, clock: systemClock, audit });
  let fixedPage = Buffer.alloc(0);
  const fixedRoute: RouteModule = (app) => {
    app.get('/fixed', { onRequest: app.requireScope('provider-directory') }, async (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(fixedPage),
    );
  };
  const app = await createHttpApp({
    config: { ...loadConfig({}).http, maxEventLoopDelayMs: 60_000 },
    log: silentLog,
    oauth,
    audit,
    metrics: createMetrics(),
    routes: [directoryRoutes({ directory }), fixedRoute],
  });
  try {
    const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
    const authorization = `Bearer ${await getToken(oauth, baseUrl)}`;
    const against = async (paths: readonly (readonly string[])[]): Promise<HttpTiming> => {
      const fixed: Fired[] = [];
      const real: Fired[] = [];
      for (const portion of paths) {
        const answered = await fire(baseUrl, portion, authorization, 1);
        fixedPage = Buffer.alloc(answered.meanBytes, ' ');
        real.push(answered);
        fixed.push(await fire(baseUrl, ['/fixed'], authorization, 1));
      }
      // The first round only warms up.
      const of = (fired: readonly Fired[], figure: keyof Fired): number =>
        medianOf(fired.slice(1).map((one) => one[figure]));
      return {
        pageBytes: of(real, 'meanBytes'),
        requestsPerSecond: of(real, 'requestsPerSecond'),
        fixedPerSecond: of(fixed, 'requestsPerSecond'),
        p50Ms: of(real, 'p50Ms'),
        p95Ms: of(real, 'p95Ms'),
      };
    };
    const timings: HttpTimings[] = [];
    for (const { name, repeated, distinct } of queries) {
      const path = (query: string): string => `/provider-directory/v2/providers?${query}`;
      const portions = portionsOf(distinct.map(path), rounds + 1);
      timings.push({
        name,
        repeated: await against(portions.map(() => [path(repeated)])),
        distinct: await against(portions),
      });
    }
    return timings;
  } finally {
    await app.close();
  }
}

/** Divides a list, so that no round meets what another has asked for. */
function portionsOf(list: readonly string[], count: number): string[][] {
  return Array.from({ length: count }, (_, portion) =>
    list.filter((_entry, index) => index % count === portion),
  );
}

function medianOf(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN;
}

async function getToken(oauth: ReturnType<typeof createOauth>, baseUrl: string): Promise<string> {
  const scopes = ['provider-directory'];
  const { clientId, clientSecret } = await oauth.clients.create({
    name: 'benchmark',
    scopes,
    dataUseAcceptedAt: systemClock.now(),
  });
  const response = await fetch(`${baseUrl}/oauth2/direct/v1/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'provider-directory' }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

interface Fired {
  readonly requestsPerSecond: number;
  readonly meanBytes: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

const loadProgram = path.join(import.meta.dirname, 'http-load.ts');

/** Twenty connections from a process of their own. */
async function fire(
  baseUrl: string,
  paths: readonly string[],
  authorization: string,
  seconds: number,
): Promise<Fired> {
  const child = spawn(process.execPath, [loadProgram, baseUrl, authorization, '20', String(seconds)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(paths.join('\n'));
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(child, 'close');
  const result = JSON.parse(text) as Fired & { failures: number };
  if (result.failures > 0) throw new Error(`${result.failures} answers were no success`);
  return result;
}

/** The figures as a Markdown table. */
export function formatHttp(timings: readonly HttpTimings[]): string[] {
  return [
    'Asked again: one query over and over, answered from the pages that the index keeps. Asked new: different queries, made from',
    'records of the directory, none of them answered before. The fixed page is as large as the answers are on average and comes',
    'from the same server behind the same token check; every search is also limited, counted and audited.',
    '',
    '| query | asked | page, bytes | requests/s | fixed page/s | ratio | p50 ms | p95 ms |',
    '|---|---|---:|---:|---:|---:|---:|---:|',
    ...timings.flatMap(({ name, repeated, distinct }) => [
      row(name, 'again', repeated),
      row(name, 'new', distinct),
    ]),
  ];
}

function row(name: string, asked: string, timing: HttpTiming): string {
  const ratio = (timing.requestsPerSecond / timing.fixedPerSecond).toFixed(2);
  const rates = `${timing.requestsPerSecond.toFixed(0)} | ${timing.fixedPerSecond.toFixed(0)} | ${ratio}`;
  return `| ${name} | ${asked} | ${timing.pageBytes} | ${rates} | ${timing.p50Ms.toFixed(1)} | ${timing.p95Ms.toFixed(1)} |`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const records = Number(process.argv[2] ?? 300_000);
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-bench-'));
  try {
    await measureImport(folder, records);
    const opened = await openDirectory(folder);
    console.log(formatHttp(await measureHttp(opened, sampleQueries(records))).join('\n'));
    await opened.close();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
