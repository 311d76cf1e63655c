/** Every query of the benchmark as a whole HTTP request: the first answer, the next ones, and the rate beside a fixed page. */
import { recordFields } from '../../src/service/directory/index.ts';
import type { HttpTarget } from './http-target.ts';
import { medianOf } from './median.ts';
import type { BenchQuery } from './queries.ts';

export interface RequestTiming {
  readonly name: string;
  readonly pageBytes: number;
  /** The first time that this page is asked for: the search is part of it. */
  readonly firstMs: number;
  /** Asked again over one connection: the page is kept. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly requestsPerSecond: number;
  /** Of the rate of a fixed page of the same size, both over twenty connections. */
  readonly ratio: number;
}

const rounds = 5;
const turn = { connections: 20, seconds: 0.2 };

/** The queries as the engine's part has placed them, last pages included. */
export async function measureEach(
  target: HttpTarget,
  queries: readonly BenchQuery[],
): Promise<RequestTiming[]> {
  const timings: RequestTiming[] = [];
  for (const query of queries) timings.push(await measureOne(target, query));
  return timings;
}

async function measureOne(target: HttpTarget, query: BenchQuery): Promise<RequestTiming> {
  const text = [toQueryString(query)];
  const first = await target.ask(text, { connections: 1, seconds: 10, maxRequests: 1 });
  const single = await target.ask(text, { connections: 1, seconds: 0.2, maxRequests: 100 });
  const rates: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { requestsPerSecond } = await target.ask(text, turn);
    const fixed = await target.askFixed(first.meanBytes, turn);
    rates.push(requestsPerSecond);
    ratios.push(requestsPerSecond / fixed.requestsPerSecond);
  }
  return {
    name: query.name,
    pageBytes: first.meanBytes,
    firstMs: first.p50Ms,
    p50Ms: single.p50Ms,
    p95Ms: single.p95Ms,
    requestsPerSecond: medianOf(rates),
    ratio: medianOf(ratios),
  };
}

/** The query as a client writes it. */
function toQueryString({ query, center }: BenchQuery): string {
  const parameters = new URLSearchParams(center);
  for (const { field, value } of query.filters) parameters.set(wireNameOf(field), value);
  if (query.radius !== undefined) parameters.set('radius', String(query.radius.miles));
  if (query.sort.length > 0) {
    const names = query.sort.map(({ field }) => (field === 'distance' ? 'radius' : wireNameOf(field)));
    parameters.set('sort_by', names.join(','));
    const orders = query.sort.map(({ isDescending }) => (isDescending ? 'descending' : 'ascending'));
    parameters.set('sort_order', orders.join(','));
  }
  parameters.set('offset', String(query.offset));
  parameters.set('limit', String(query.limit));
  return parameters.toString();
}

function wireNameOf(field: string): string {
  const found = recordFields.find((one) => one.field === field);
  if (found === undefined) throw new Error(`no parameter for ${field}`);
  return found.wireName;
}

/** What all queries come to, and the table. */
export function formatEach(timings: readonly RequestTiming[]): string[] {
  const ratios = timings.map(({ ratio }) => ratio).toSorted((a, b) => a - b);
  const reached = ratios.filter((ratio) => ratio >= 0.6).length;
  const worst = Math.max(...timings.map(({ firstMs }) => firstMs));
  return [
    `- rate beside a fixed page: least ${ratios[0]?.toFixed(2)}, median ${medianOf(ratios).toFixed(2)}; ${reached} of ${ratios.length} queries reach 0.6`,
    `- first answer: median ${medianOf(timings.map(({ firstMs }) => firstMs)).toFixed(2)} ms, longest ${worst.toFixed(1)} ms`,
    '',
    'First: the page is asked for the first time, over one connection. p50 and p95: asked again over one connection. Rate and ratio: asked again',
    'over twenty connections, turn and turn about with a fixed page of the same size from the same server behind the same token check.',
    '',
    '| query | page, bytes | first ms | p50 ms | p95 ms | requests/s | ratio |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...timings.map(
      ({ name, pageBytes, firstMs, p50Ms, p95Ms, requestsPerSecond, ratio }) =>
        `| ${name.replaceAll('|', '\\|')} | ${pageBytes} | ${firstMs.toFixed(2)} | ${p50Ms.toFixed(2)} | ${p95Ms.toFixed(2)} | ${requestsPerSecond.toFixed(0)} | ${ratio.toFixed(2)} |`,
    ),
  ];
}
