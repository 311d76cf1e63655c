/**
 * Every query of the benchmark as a whole HTTP request, each page asked for once and at a random place of its result:
 * `node bench/directory/http-each.ts FOLDER [--only PATTERN]`, over the data of a folder that holds a directory; `--only` takes the
 * queries whose name the regular expression fits. Node runs with the options of a serving process.
 */
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { providerFields } from '../../src/lib/provider-record/index.ts';
import { seededRandom } from '../../test/support/random-directory.ts';
import { runAsServed } from '../run-as-served.ts';
import { openHttpTarget, type HttpTarget } from './http-target.ts';
import { openDirectory, type OpenDirectory } from './import.ts';
import { medianOf } from './median.ts';
import { benchQueries, type BenchQuery } from './queries.ts';

export interface RequestTiming {
  readonly name: string;
  readonly totalCount: number;
  /** The first answer since the start. */
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

const rounds = 40;

/**
 * Asks over one connection, the queries in turn, so that nothing in the processor's caches is there for the next page of
 * the same result. The first round is distinguished: it meets code that never ran.
 */
export async function measureEach(
  target: Pick<HttpTarget, 'ask'>,
  queries: readonly (BenchQuery & { readonly totalCount: number })[],
): Promise<RequestTiming[]> {
  const random = seededRandom(20_261_122);
  const times = queries.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    const asked = queries.map((query) => {
      const last = Math.max(0, query.totalCount - query.query.limit);
      return toQueryString(query, Math.floor(random() * (last + 1)));
    });
    const { latenciesMs } = await target.ask(asked, {
      connections: 1,
      seconds: 600,
      maxRequests: asked.length,
    });
    for (const [at, ms] of latenciesMs.entries()) times[at]?.push(ms);
  }
  return queries.map(({ name, totalCount }, at) => {
    const [firstMs = Number.NaN, ...others] = times[at] as number[];
    const sorted = others.toSorted((a, b) => a - b);
    const p95Ms = sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN;
    return { name, totalCount, firstMs, p50Ms: medianOf(others), p95Ms };
  });
}

/** The query as a client writes it. */
export function toQueryString({ query, center }: BenchQuery, offset: number): string {
  const parameters = new URLSearchParams(center);
  for (const { field, value } of query.filters) parameters.set(wireNameOf(field), value);
  if (query.radius !== undefined) parameters.set('radius', String(query.radius.miles));
  if (query.sort.length > 0) {
    const names = query.sort.map(({ field }) => (field === 'distance' ? 'radius' : wireNameOf(field)));
    parameters.set('sort_by', names.join(','));
    const orders = query.sort.map(({ isDescending }) => (isDescending ? 'descending' : 'ascending'));
    parameters.set('sort_order', orders.join(','));
  }
  parameters.set('offset', String(offset));
  parameters.set('limit', String(query.limit));
  return parameters.toString();
}

function wireNameOf(field: string): string {
  const found = providerFields.find((one) => one.field === field);
  if (found === undefined) throw new Error(`no parameter for ${field}`);
  return found.wireName;
}

/** Totals over all queries, and the table of the slowest by p95. */
export function formatEach(timings: readonly RequestTiming[], shown = 20): string[] {
  const slow = timings.filter(({ p95Ms }) => p95Ms > 8);
  const first = timings.reduce((a, b) => (b.firstMs > a.firstMs ? b : a));
  return [
    `- median of the p50: ${medianOf(timings.map(({ p50Ms }) => p50Ms)).toFixed(2)} ms; p95 at most 8 ms: ${timings.length - slow.length} of ${timings.length} queries`,
    `- longest first answer since the start: ${first.firstMs.toFixed(1)} ms (${first.name})`,
    '',
    `Each query ${rounds} times over one connection, at random offsets over its whole result, the queries in turn; no page is asked for twice. The ${shown} slowest by p95:`,
    '',
    '| query | matches | first ms | p50 ms | p95 ms |',
    '|---|---:|---:|---:|---:|',
    ...timings
      .toSorted((a, b) => b.p95Ms - a.p95Ms)
      .slice(0, shown)
      .map(
        ({ name, totalCount, firstMs, p50Ms, p95Ms }) =>
          `| ${name.replaceAll('|', '\\|')} | ${totalCount} | ${firstMs.toFixed(2)} | ${p50Ms.toFixed(2)} | ${p95Ms.toFixed(2)} |`,
      ),
  ];
}

const client = { clientId: 'benchmark', limits: {}, dataUseAcceptedAt: new Date(0) };

async function countOf({ directory }: OpenDirectory, query: BenchQuery): Promise<number> {
  const parameters = [...new URLSearchParams(toQueryString(query, 0))];
  const { json } = await directory.search(parameters, { client });
  return Number((JSON.parse(Buffer.from(json).toString()) as { totalCount: string }).totalCount);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  runAsServed();
  const { values, positionals } = parseArgs({
    options: { only: { type: 'string', default: '' } },
    allowPositionals: true,
  });
  const [folder = ''] = positionals;
  const counting = await openDirectory(folder);
  const queries = [];
  for (const query of benchQueries(values.only))
    queries.push({ ...query, totalCount: await countOf(counting, query) });
  await counting.close();
  // A second opening, so that the first answers are those after a start.
  const opened = await openDirectory(folder);
  const target = await openHttpTarget(opened);
  console.log(formatEach(await measureEach(target, queries), queries.length).join('\n'));
  await target.close();
  await opened.close();
}
