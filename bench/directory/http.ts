/**
 * Whole HTTP requests against a fixed page of the same size from the same server: `node bench/directory/http.ts [records]`.
 * Every request carries a token, is rate-limited, counted and audited; the load comes from another process. Each kind of
 * query is timed by as many different ones as the directory gives, none of them answered before.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LoadResult } from './http-load.ts';
import type { HttpQuery } from './http-queries.ts';
import { openHttpTarget, type HttpTarget } from './http-target.ts';
import { measureImport, openDirectory, sampleQueries } from './import.ts';
import { medianOf } from './median.ts';

/** One load against a fixed page of the same size. */
export interface HttpTiming {
  readonly pageBytes: number;
  readonly requestsPerSecond: number;
  readonly fixedPerSecond: number;
  /** The median of the rounds' ratios: what both met in the same second. */
  readonly ratio: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

export interface HttpTimings extends HttpTiming {
  readonly name: string;
}

const order = { connections: 20, seconds: 1 };

/**
 * Measures each kind of query next to a fixed page of its size, in alternation, one second each, because other work
 * on the machine comes and goes; the medians count.
 */
export async function measureHttp(
  target: HttpTarget,
  queries: readonly HttpQuery[],
  rounds = 5,
): Promise<HttpTimings[]> {
  const timings: HttpTimings[] = [];
  for (const { name, distinct } of queries) {
    timings.push({ name, ...(await measureBeside(target, portionsOf(distinct, rounds + 1))) });
  }
  return timings;
}

// The first round only warms up.
async function measureBeside(
  target: HttpTarget,
  portions: readonly (readonly string[])[],
): Promise<HttpTiming> {
  const real: LoadResult[] = [];
  const fixed: LoadResult[] = [];
  for (const [round, portion] of portions.entries()) {
    const answered = await target.ask(portion, order);
    const beside = await target.askFixed(answered.meanBytes, order);
    if (round === 0) continue;
    real.push(answered);
    fixed.push(beside);
  }
  const ofReal = (figure: 'meanBytes' | 'requestsPerSecond' | 'p50Ms' | 'p95Ms'): number =>
    medianOf(real.map((one) => one[figure]));
  return {
    pageBytes: ofReal('meanBytes'),
    requestsPerSecond: ofReal('requestsPerSecond'),
    fixedPerSecond: medianOf(fixed.map((one) => one.requestsPerSecond)),
    ratio: medianOf(
      real.map((one, round) => one.requestsPerSecond / (fixed[round]?.requestsPerSecond ?? Number.NaN)),
    ),
    p50Ms: ofReal('p50Ms'),
    p95Ms: ofReal('p95Ms'),
  };
}

/** Divides a list, so that no round meets what another has asked for. */
function portionsOf(list: readonly string[], count: number): string[][] {
  return Array.from({ length: count }, (_, portion) =>
    list.filter((_entry, index) => index % count === portion),
  );
}

/** The figures as a Markdown table. */
export function formatHttp(timings: readonly HttpTimings[]): string[] {
  return [
    'Different queries, made from records of the directory, none of them answered before. The fixed page is as large as the answers',
    'are on average and comes from the same server behind the same token check; every search is also limited, counted and audited.',
    '',
    '| query | page, bytes | requests/s | fixed page/s | ratio | p50 ms | p95 ms |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...timings.map(({ name, ...timing }) => row(name, timing)),
  ];
}

function row(name: string, timing: HttpTiming): string {
  const { pageBytes, requestsPerSecond, fixedPerSecond, ratio, p50Ms, p95Ms } = timing;
  const rates = `${requestsPerSecond.toFixed(0)} | ${fixedPerSecond.toFixed(0)} | ${ratio.toFixed(2)}`;
  return `| ${name} | ${pageBytes} | ${rates} | ${p50Ms.toFixed(1)} | ${p95Ms.toFixed(1)} |`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const records = Number(process.argv[2] ?? 300_000);
  const folder = await mkdtemp(path.join(tmpdir(), 'openhisp-bench-'));
  try {
    await measureImport(folder, records);
    const opened = await openDirectory(folder);
    const target = await openHttpTarget(opened);
    console.log(formatHttp(await measureHttp(target, sampleQueries(records))).join('\n'));
    await target.close();
    await opened.close();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
