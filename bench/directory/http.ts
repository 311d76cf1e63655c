/**
 * Whole HTTP requests against a fixed page of the same size from the same server: `node bench/directory/http.ts [records]`.
 * Every request carries a token, is rate-limited, counted and audited; the load comes from another process.
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
import { measureImport, openDirectory, type OpenDirectory } from './import.ts';

export interface HttpTiming {
  readonly name: string;
  readonly pageBytes: number;
  readonly requestsPerSecond: number;
  readonly fixedPerSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

const queries: readonly (readonly [name: string, query: string])[] = [
  ['no filter', ''],
  ['last name Smith', 'prov_last_name=Smith'],
  ['organization contains clinic', 'org_name=clinic'],
  ['specialty contains cardio, Texas', 'prov_spec_text=cardio&org_state=TX'],
  ['Direct address contains smith', 'serv_direct_addr=smith'],
  ['Texas by city', 'org_state=TX&sort_by=org_city'],
  ['25 miles round a ZIP', 'org_zip=78701&radius=25'],
  ['1000 miles round a city', 'org_city=Chicago&org_state=IL&radius='],
  ['last name S, page of 1000', 'prov_last_name=S&limit=1000'],
];

/**
 * Measures each query beside a fixed page of its size: turn and turn about, one second each, because other work on the
 * machine comes and goes; the medians count.
 */
export async function measureHttp(
  { directory, storage, audit }: OpenDirectory,
  rounds = 5,
): Promise<HttpTiming[]> {
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
    const timings: HttpTiming[] = [];
    for (const [name, query] of queries) {
      const url = `${baseUrl}/provider-directory/v2/providers?${query}`;
      fixedPage = Buffer.from(await (await fetch(url, { headers: { authorization } })).arrayBuffer());
      const fixed: Fired[] = [];
      const real: Fired[] = [];
      for (let round = 0; round <= rounds; round++) {
        fixed.push(await fire(`${baseUrl}/fixed`, authorization, 1));
        real.push(await fire(url, authorization, 1));
      }
      // The first round only warms up.
      const of = (fired: readonly Fired[], figure: keyof Fired): number =>
        medianOf(fired.slice(1).map((one) => one[figure]));
      timings.push({
        name,
        pageBytes: fixedPage.length,
        requestsPerSecond: of(real, 'requestsPerSecond'),
        fixedPerSecond: of(fixed, 'requestsPerSecond'),
        p50Ms: of(real, 'p50Ms'),
        p95Ms: of(real, 'p95Ms'),
      });
    }
    return timings;
  } finally {
    await app.close();
  }
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
  readonly p50Ms: number;
  readonly p95Ms: number;
}

const loadProgram = path.join(import.meta.dirname, 'http-load.ts');

/** Twenty connections from a process of their own. */
async function fire(url: string, authorization: string, seconds: number): Promise<Fired> {
  const child = spawn(process.execPath, [loadProgram, url, authorization, '20', String(seconds)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(child, 'close');
  const result = JSON.parse(text) as Fired & { failures: number };
  if (result.failures > 0) throw new Error(`${result.failures} answers were no success`);
  return result;
}

/** The figures as a Markdown table. */
export function formatHttp(timings: readonly HttpTiming[]): string[] {
  return [
    '| query | page, bytes | requests/s | fixed page/s | ratio | p50 ms | p95 ms |',
    '|---|---|---|---|---|---|---|',
    ...timings.map((timing) => {
      const ratio = (timing.requestsPerSecond / timing.fixedPerSecond).toFixed(2);
      const rates = `${timing.requestsPerSecond.toFixed(0)} | ${timing.fixedPerSecond.toFixed(0)} | ${ratio}`;
      return `| ${timing.name} | ${timing.pageBytes} | ${rates} | ${timing.p50Ms.toFixed(1)} | ${timing.p95Ms.toFixed(1)} |`;
    }),
  ];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-bench-'));
  try {
    await measureImport(folder, Number(process.argv[2] ?? 300_000));
    const opened = await openDirectory(folder);
    console.log(formatHttp(await measureHttp(opened)).join('\n'));
    await opened.close();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
