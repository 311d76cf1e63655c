/**
 * The benchmark of suggestions:
 * `node bench/directory/suggestions/run.ts [--records 300000] [--seed NUMBER] [--output FILE] [--only-ours]`; the seed is that of
 * made queries by which nothing was tuned.
 * Judged queries (the meant record first, or among the first five), latency over HTTP and memory, side by side with
 * PostgreSQL and MiniSearch over the same records; then a client that types, and a hundred at once.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openIndex, readSnapshot } from '../../../src/lib/provider-index/index.ts';
import { openInput, type SuggestionAnswer } from '../../../src/service/directory/index.ts';
import { runAsServed } from '../../run-as-served.ts';
import { sampleRecords, timingOf } from '../engine.ts';
import { openHttpTarget, type HttpTarget } from '../http-target.ts';
import { openDirectory, writeSampleCsv, type OpenDirectory } from '../import.ts';
import { findPostgres, startPostgres } from '../postgres.ts';
import { loadMiniSearch, loadPostgres, type Engine } from './engines.ts';
import { judgedQueries, loadedRecords, tunedSeed, type JudgedQuery } from './judged-queries.ts';
import { pathOf, typedKinds, type Asked } from './typed-kinds.ts';
import { writtenQueries } from './written-queries.ts';

runAsServed();
const { values: options } = parseArgs({
  options: {
    records: { type: 'string', default: '300000' },
    output: { type: 'string', default: 'bench/RESULTS-suggestions.md' },
    seed: { type: 'string', default: '31' },
    'only-ours': { type: 'boolean', default: false },
  },
});
const recordCount = Number(options.records);
const log = (text: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);

interface Judged {
  readonly engine: string;
  readonly first: number;
  readonly five: number;
  readonly byKind: ReadonlyMap<string, readonly [count: number, first: number]>;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly buildSeconds: number;
  readonly bytes: number;
}

async function judge(
  { name, ask, buildSeconds, bytes }: Engine,
  queries: readonly JudgedQuery[],
): Promise<Judged> {
  const byKind = new Map<string, readonly [number, number]>();
  const times: number[] = [];
  let [first, five] = [0, 0];
  // The first round warms the caches.
  for (const isCounted of [false, true])
    for (const { q, kind, addresses } of queries) {
      if (!isCounted && q.length % 8 !== 0) continue;
      const startMs = performance.now();
      const found = await ask(q).catch(() => []);
      const tookMs = performance.now() - startMs;
      if (!isCounted) continue;
      times.push(tookMs);
      const rank = found.findIndex((one) => one.some((address) => addresses.has(address)));
      const [count, firsts] = byKind.get(kind) ?? [0, 0];
      byKind.set(kind, [count + 1, firsts + (rank === 0 ? 1 : 0)]);
      first += rank === 0 ? 1 : 0;
      five += rank >= 0 && rank < 5 ? 1 : 0;
    }
  return { engine: name, first, five, byKind, buildSeconds, bytes, ...timingOf(times) };
}

const client = { clientId: 'benchmark', limits: {}, dataUseAcceptedAt: new Date(0) };
function ourEngine({ directory }: OpenDirectory, buildSeconds: number, bytes: number): Engine {
  return {
    name: 'openhisp',
    buildSeconds,
    bytes,
    async ask(q) {
      const { json } = await directory.suggest([['q', q]], { client });
      const { suggestions } = JSON.parse(Buffer.from(json).toString()) as SuggestionAnswer;
      return suggestions.map(({ addresses }) => addresses.map((one) => one.serv_direct_addr.toLowerCase()));
    },
  };
}

interface Row {
  readonly name: string;
  readonly requests: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly slowestMs: number;
  /** Of this process, per request: on a busy machine latencies say how busy it is. */
  readonly processorMs: number;
  readonly perSecond?: number;
}

async function measureHttp(target: HttpTarget, queries: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  let spent = process.cpuUsage();
  const add = (name: string, latencies: readonly number[], perSecond?: number): void => {
    const { user, system } = process.cpuUsage(spent);
    spent = process.cpuUsage();
    rows.push({
      name,
      processorMs: (user + system) / 1000 / latencies.length,
      requests: latencies.length,
      ...timingOf(latencies),
      slowestMs: Math.max(...latencies),
      ...(perSecond !== undefined && { perSecond }),
    });
  };
  const inTurn = async (list: readonly Asked[], rounds: number): Promise<readonly number[]> => {
    const order = { connections: 1, seconds: 600, maxRequests: list.length * rounds };
    return (await target.askPaths(list.map(pathOf), order)).latenciesMs;
  };
  await inTurn(queries.slice(0, 40), 1);
  spent = process.cpuUsage();
  add('judged queries, one after the other', await inTurn(queries, 1));
  for (const [kind, list] of Object.entries(typedKinds)) add(kind, await inTurn(list, 10));
  const typed: number[] = [];
  for (const [q] of writtenQueries.slice(0, 8))
    for (let length = 1; length <= q.length; length++) {
      if (!/[a-z0-9]/.test(q.slice(0, length))) continue;
      const order = { connections: 1, seconds: 60, maxRequests: 1 };
      const asked = sleep(80);
      typed.push(...(await target.askPaths([pathOf(q.slice(0, length))], order)).latenciesMs);
      await asked;
    }
  add('a client that types, a request per 80 ms', typed);
  const many = await target.askPaths(queries.map(pathOf), { connections: 100, seconds: 10 });
  add('a hundred at once', many.latenciesMs, many.requestsPerSecond);
  return rows;
}

const ms = (value: number): string => value.toFixed(1);
const mb = (bytes: number): string => (bytes / 1e6).toFixed(0);
const percent = (count: number, all: number): string => `${((count / all) * 100).toFixed(1)} %`;

function formatJudged(judged: readonly Judged[], count: number): string[] {
  const kinds = [...(judged[0]?.byKind ?? [])];
  return [
    '| engine | first result | first five | p50 ms | p95 ms | built in s | MB |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...judged.map(
      (one) =>
        `| ${one.engine} | ${percent(one.first, count)} | ${percent(one.five, count)} | ${ms(one.p50Ms)} | ${ms(one.p95Ms)} | ${ms(one.buildSeconds)} | ${mb(one.bytes)} |`,
    ),
    '',
    `| first result by kind | queries | ${judged.map(({ engine }) => engine).join(' | ')} |`,
    `|---|---:|${judged.map(() => '---:|').join('')}`,
    ...kinds.map(
      ([kind, [all]]) =>
        `| ${kind} | ${all} | ${judged.map(({ byKind }) => byKind.get(kind)?.[1] ?? 0).join(' | ')} |`,
    ),
  ];
}

function formatRows(rows: readonly Row[]): string[] {
  return [
    '| over HTTP | requests | p50 ms | p95 ms | slowest ms | processor ms | requests per s |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...rows.map(
      ({ name, requests, p50Ms, p95Ms, slowestMs, processorMs, perSecond }) =>
        `| ${name} | ${requests} | ${ms(p50Ms)} | ${ms(p95Ms)} | ${ms(slowestMs)} | ${ms(processorMs)} | ${perSecond === undefined ? '' : perSecond.toFixed(0)} |`,
    ),
  ];
}

function memoryOf(snapshotDir: string): readonly { part: string; bytes: number }[] {
  const file = readdirSync(snapshotDir).find((name) => name.endsWith('.idx')) ?? '';
  const parts = openIndex(readSnapshot(path.join(snapshotDir, file))).memory();
  return parts;
}

const judged: Judged[] = [];
const judgedOthers: Judged[] = [];
const folder = mkdtempSync(path.join(tmpdir(), 'openhisp-suggestions-'));
try {
  const csv = path.join(folder, 'providers.csv');
  log('records');
  await writeSampleCsv(csv, recordCount);
  const records = loadedRecords(sampleRecords(Math.min(recordCount, 300_000)));
  const queries = judgedQueries(records, tunedSeed);
  const others = judgedQueries(records, Number(options.seed));
  const judgeAll = async (engine: Engine): Promise<void> => {
    judged.push(await judge(engine, queries));
    judgedOthers.push(await judge(engine, others));
  };
  const opened = await openDirectory(folder);
  const startMs = performance.now();
  await opened.directory.importFiles({ files: await openInput(csv), kind: 'full', acceptLoss: true });
  const importSeconds = (performance.now() - startMs) / 1000;
  const parts = memoryOf(opened.snapshotDir);
  const memory = parts.filter(({ part }) => part.includes('.words.'));
  const sumOf = (list: typeof parts): number => list.reduce((sum, part) => sum + part.bytes, 0);
  const bytes = sumOf(memory);
  const spelledBytes = sumOf(parts.filter(({ part }) => /\.(?:spelling|spans)/.test(part)));
  log(`imported; words take ${(bytes / recordCount).toFixed(1)} bytes per record`);
  if (recordCount === 300_000) await judgeAll(ourEngine(opened, importSeconds, bytes));
  const target = await openHttpTarget(opened);
  const rows = await measureHttp(
    target,
    queries.map(({ q }) => q),
  );
  await target.close();
  await opened.close();
  log('measured over HTTP');
  const restartMs = performance.now();
  const again = await openDirectory(folder);
  while (!again.directory.isReady()) await sleep(5);
  const readySeconds = (performance.now() - restartMs) / 1000;
  await again.close();
  const binaries = options['only-ours'] || recordCount !== 300_000 ? undefined : findPostgres();
  if (binaries !== undefined) {
    const server = await startPostgres(binaries);
    await judgeAll(await loadPostgres(server.client, records));
    await server.close();
    log('measured PostgreSQL');
  }
  const mini = options['only-ours'] || recordCount !== 300_000 ? undefined : loadMiniSearch(records);
  if (mini !== undefined) await judgeAll(mini);
  const largest = memory.toSorted((a, b) => b.bytes - a.bytes).slice(0, 12);
  const text = [
    `## ${recordCount} records`,
    '',
    ...(judged.length === 0 ? [] : [...formatJudged(judged, queries.length), '']),
    ...(judged.length === 0
      ? []
      : [
          `Made with seed ${options.seed}, and written later; nothing was tuned by these:`,
          '',
          ...formatJudged(judgedOthers, others.length),
          '',
        ]),
    ...formatRows(rows),
    '',
    `Import ${importSeconds.toFixed(0)} s, ready ${readySeconds.toFixed(1)} s after a restart.`,
    `Words take ${(bytes / recordCount).toFixed(1)} bytes per record, other spellings ${(spelledBytes / recordCount).toFixed(1)}:`,
    '',
    '| part | bytes per record |',
    '|---|---:|',
    ...largest.map((part) => `| ${part.part} | ${(part.bytes / recordCount).toFixed(1)} |`),
  ];
  writeFileSync(options.output, `${text.join('\n')}\n`);
  console.log(text.join('\n'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
