/**
 * The directory benchmark: `node bench/directory/run.ts [--records 3000000] [--shape zip] [--no-postgres] [--snapshot FILE] [--postgres-times FILE]
 * [--only PATTERN] [--output FILE]`.
 * Builds the index of invented records, times every query, and, unless disabled, loads the same rows into a private
 * PostgreSQL and times the same queries there. Writes bench/RESULTS.md; `--snapshot` keeps the index for
 * the next run, `--postgres-times` what PostgreSQL took, since loading it takes many minutes. Then the same number of
 * records goes through the whole service: import, restart and HTTP requests; `--no-service` leaves that out.
 */
import type { ProviderRecord } from '../../src/lib/provider-record/index.ts';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  openIndex,
  readSnapshot,
  writeSnapshot,
  type ProviderIndex,
} from '../../src/lib/provider-index/index.ts';
import { buildSample, timeQuery, type EngineTiming } from './engine.ts';
import { timeInPostgres, type PostgresTiming } from './postgres-query.ts';
import { loadTable } from './postgres-table.ts';
import { findPostgres, startPostgres } from './postgres.ts';
import { benchQueries, type BenchQuery } from './queries.ts';
import { isShape, shapeNames, shapeTexts, type ShapeName } from './shapes.ts';
import { formatReport, queryTable, type Figures } from './report.ts';
import { formatEach, measureEach } from './http-each.ts';
import { openHttpTarget } from './http-target.ts';
import { formatHttp, measureHttp } from './http.ts';
import { formatImport, measureImport, openDirectory, sampleQueries } from './import.ts';

const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '3000000' },
    shape: { type: 'string', default: 'zip' },
    'no-postgres': { type: 'boolean', default: false },
    'no-service': { type: 'boolean', default: false },
    snapshot: { type: 'string' },
    'postgres-times': { type: 'string' },
    only: { type: 'string', default: '' },
    output: { type: 'string', default: 'bench/RESULTS.md' },
  },
});

function chosenShape(name: string): ShapeName {
  if (isShape(name)) return name;
  throw new Error(`--shape is one of ${shapeNames.join(', ')}.`);
}

const shape = chosenShape(options.shape);

const log = (text: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);

interface BuildTimes {
  readonly addMs: number;
  readonly finishMs: number;
  readonly writeMs: number;
}

function prepareIndex(
  recordCount: number,
  shape: ShapeName,
  path: string,
): { index: ProviderIndex; build: Figures['build']; snapshot: Figures['snapshot'] } {
  const timesPath = `${path}.json`;
  if (!existsSync(path)) {
    log(`building the index of ${recordCount} records`);
    const { bytes, addMs, finishMs } = buildSample(recordCount, shape);
    const start = performance.now();
    writeSnapshot(bytes, path);
    const times: BuildTimes = { addMs, finishMs, writeMs: performance.now() - start };
    writeFileSync(timesPath, JSON.stringify(times));
  }
  const { writeMs, ...build } = JSON.parse(readFileSync(timesPath, 'utf8')) as BuildTimes;
  const start = performance.now();
  const index = openIndex(readSnapshot(path));
  return {
    index,
    build,
    snapshot: { writeMs, readMs: performance.now() - start, bytes: statSync(path).size },
  };
}

function* recordsOf(index: ProviderIndex): Generator<ProviderRecord> {
  for (let row = 0; row < index.recordCount; row++) yield index.record(row);
}

interface Comparison {
  readonly figures: NonNullable<Figures['postgres']>;
  /** By the name of the query. */
  readonly answers: Readonly<Record<string, PostgresTiming>>;
}

async function compareOrReuse(
  index: ProviderIndex,
  timings: readonly EngineTiming[],
  path: string | undefined,
): Promise<Comparison> {
  if (path !== undefined && existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as Comparison;
  const comparison = await compare(index, timings);
  if (path !== undefined) writeFileSync(path, JSON.stringify(comparison));
  return comparison;
}

async function compare(index: ProviderIndex, timings: readonly EngineTiming[]): Promise<Comparison> {
  const binaries = findPostgres();
  if (binaries === undefined) throw new Error('PostgreSQL is not installed; use --no-postgres.');
  const postgres = await startPostgres(binaries);
  try {
    log(`${postgres.version}: loading`);
    const load = await loadTable(postgres.client, recordsOf(index), log);
    const size = await postgres.client.query<{ bytes: string }>(
      `select pg_total_relation_size('providers') as bytes`,
    );
    const answers: Record<string, PostgresTiming> = {};
    for (const timing of timings) {
      const answer = await timeInPostgres(postgres.client, timing.query);
      answers[timing.name] = answer;
      log(
        `${timing.name}: ${timing.totalCount}, ${timing.p50Ms.toFixed(2)} ms; PostgreSQL ${answer.totalCount}, ${answer.p50Ms.toFixed(1)} ms`,
      );
    }
    return { figures: { version: postgres.version, ...load, bytes: Number(size.rows[0]?.bytes) }, answers };
  } finally {
    await postgres.close();
  }
}

/** Import, restart and whole requests, through the service itself. */
async function measureService(
  recordCount: number,
  shape: ShapeName,
  queries: readonly (BenchQuery & { readonly totalCount: number })[],
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'openhisp-bench-service-'));
  try {
    log('importing through the service');
    const imported = formatImport(await measureImport(folder, recordCount, shape));
    log('timing whole requests');
    const opened = await openDirectory(folder);
    const target = await openHttpTarget(opened);
    const kinds = formatHttp(await measureHttp(target, sampleQueries(recordCount, shape)));
    const each = formatEach(await measureEach(target, queries));
    await target.close();
    await opened.close();
    return [
      ['', '## Import through the service', '', ...imported.map((line) => `- ${line}`), ''],
      ['## Whole HTTP requests, kind by kind', '', ...kinds, ''],
      ['## Whole HTTP requests, query by query', '', ...each, ''],
    ]
      .flat()
      .join('\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const recordCount = Number(options.records);
  const path = options.snapshot ?? join(tmpdir(), `openhisp-bench-${process.pid}.idx`);
  const { index, build, snapshot } = prepareIndex(recordCount, shape, path);
  if (options.snapshot === undefined) {
    rmSync(path);
    rmSync(`${path}.json`);
  }
  log('timing the queries');
  const queries = benchQueries(options.only);
  const timings = queries.map((query) => timeQuery(index, query));
  const compared = options['no-postgres']
    ? undefined
    : await compareOrReuse(index, timings, options['postgres-times']);
  const parts = index.memory();
  const rows = timings.map((engine) => ({ engine, postgres: compared?.answers[engine.name] }));
  console.log(queryTable(rows).join('\n'));
  const report = formatReport({
    recordCount: index.recordCount,
    shape: `${shape}: ${shapeTexts[shape]}`,
    bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    parts,
    build,
    snapshot,
    postgres: compared?.figures,
    rows,
  });
  writeFileSync(options.output, report);
  if (!options['no-service']) {
    const placed = queries.map((query, at) => ({ ...query, totalCount: timings[at]?.totalCount ?? 0 }));
    appendFileSync(options.output, await measureService(recordCount, shape, placed));
  }
  log(`written to ${options.output}`);
}

await main();
